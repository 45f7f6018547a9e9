import {render} from "preact";

import {Address} from "./controllers/session/address.js";
import {Filters} from "./controllers/session/filters.js";
import {startRunPage} from "./controllers/session/run_page.js";
import {element} from "./lib/dom.js";
import {html} from "./lib/html.js";
import {NodeListPage} from "./views/nodes/node_list.js";

const root = element("#nodes");
const session = startRunPage(root, new Address());
const filters = new Filters(session.address, ["name", "show", "page"]);

render(html`<${NodeListPage} session=${session} filters=${filters} />`, root);
filters.start();
session.start();
