import {render} from "preact";

import {Cycle} from "./controllers/inside/cycle.js";
import {connectCycleKeys} from "./controllers/inside/keys.js";
import {Address} from "./controllers/session/address.js";
import {startRunPage} from "./controllers/session/run_page.js";
import {element} from "./lib/dom.js";
import {html} from "./lib/html.js";
import {InsideSchedulerPage} from "./views/inside/cycle_page.js";

const root = element("#inside");
const session = startRunPage(root, new Address());
const cycle = new Cycle(session);

connectCycleKeys(cycle);
render(html`<${InsideSchedulerPage} session=${session} cycle=${cycle} />`, root);
addEventListener("popstate", () => cycle.revisit());
cycle.start();
session.start();
