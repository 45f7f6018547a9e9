import {render} from "preact";

import {Address} from "./controllers/session/address.js";
import {Filters} from "./controllers/session/filters.js";
import {startRunPage} from "./controllers/session/run_page.js";
import {element} from "./lib/dom.js";
import {html} from "./lib/html.js";
import {PodListPage} from "./views/pods/pod_list.js";

const root = element("#pods");
const session = startRunPage(root, new Address());
const filters = new Filters(session.address, ["name", "state", "page"]);

render(html`<${PodListPage} session=${session} filters=${filters} />`, root);
filters.start();
session.start();
