import {render} from "preact";

import {Address} from "./controllers/address.js";
import {startRunPage} from "./controllers/run_page.js";
import {TimelineEvents} from "./controllers/timeline_events.js";
import {html} from "./lib/html.js";
import {TimelinePage} from "./views/timeline_page.js";

const root = document.querySelector("#timeline");
const session = startRunPage(root, new Address());
const events = new TimelineEvents(session);

render(html`<${TimelinePage} session=${session} events=${events} />`, root);
events.start();
session.start();
