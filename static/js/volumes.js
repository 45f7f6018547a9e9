import {render} from "preact";

import {PickedAddress} from "./controllers/address.js";
import {Candidates} from "./controllers/candidates.js";
import {Chosen} from "./controllers/chosen.js";
import {startRunPage} from "./controllers/run_page.js";
import {html} from "./lib/html.js";
import {VolumesPage} from "./views/volumes_page.js";

const root = document.querySelector("#volumes");
const address = new PickedAddress();
const board = startRunPage(root, address);
const chosen = new Chosen(board, address);
const candidates = new Candidates(board, chosen);

render(html`<${VolumesPage} board=${board} chosen=${chosen} candidates=${candidates} />`, root);
chosen.start();
candidates.start();
board.start();
