import {render} from "preact";

import {Address} from "./controllers/session/address.js";
import {startRunPage} from "./controllers/session/run_page.js";
import {html} from "./lib/html.js";
import {PodListPage} from "./views/pods/pod_list.js";

const root = document.querySelector("#pods");
const session = startRunPage(root, new Address());

render(html`<${PodListPage} session=${session} />`, root);
session.start();
