import {render} from "preact";

import {Address} from "./controllers/session/address.js";
import {startRunPage} from "./controllers/session/run_page.js";
import {html} from "./lib/html.js";
import {NodeListPage} from "./views/nodes/node_list.js";

const root = document.querySelector("#nodes");
const session = startRunPage(root, new Address());

render(html`<${NodeListPage} session=${session} />`, root);
session.start();
