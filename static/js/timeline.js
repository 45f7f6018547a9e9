import {render} from "preact";

import {Address} from "./controllers/address.js";
import {startRunPage} from "./controllers/run_page.js";
import {TimelineEvents} from "./controllers/timeline_events.js";
import {html} from "./lib/html.js";
import {TimelinePage} from "./views/timeline_page.js";

const root = document.querySelector("#timeline");
const board = startRunPage(root, new Address());
const events = new TimelineEvents(board);

render(html`<${TimelinePage} board=${board} events=${events} />`, root);
events.start();
board.start();
