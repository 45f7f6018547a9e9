import {render} from "preact";

import {Address} from "./controllers/address.js";
import {startRunPage} from "./controllers/run_page.js";
import {html} from "./lib/html.js";
import {PodListPage} from "./views/pod_list.js";

const root = document.querySelector("#pods");
const board = startRunPage(root, new Address());

render(html`<${PodListPage} board=${board} />`, root);
board.start();
