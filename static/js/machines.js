import {render} from "preact";

import {Address} from "./controllers/address.js";
import {Followed} from "./controllers/followed.js";
import {startRunPage} from "./controllers/run_page.js";
import {html} from "./lib/html.js";
import {MachinesPage} from "./views/machines_page.js";

const root = document.querySelector("#machines");
const board = startRunPage(root, new Address());
const followed = new Followed(board);

render(html`<${MachinesPage} board=${board} followed=${followed} />`, root);
followed.start();
board.start();
