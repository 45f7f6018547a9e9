import {render} from "preact";

import {Comparison} from "./controllers/run/comparison.js";
import {Address} from "./controllers/session/address.js";
import {startRunPage} from "./controllers/session/run_page.js";
import {element, given} from "./lib/dom.js";
import {html} from "./lib/html.js";
import {parseSeq} from "./model/run/timeline.js";
import {ComparePage} from "./views/run/compare_page.js";

const root = element("#compare");
const address = new Address();
const session = startRunPage(root, address);
const comparison = new Comparison(session, parseSeq(address.query("with")));

render(
  html`<${ComparePage} session=${session} comparison=${comparison} others=${given("#others")} versions=${given("#versions")} />`,
  root,
);
comparison.start();
comparison.connectKeys();
session.start();
comparison.openAt(address.query("t"));
