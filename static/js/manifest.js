import {render} from "preact";

import {Address} from "./controllers/address.js";
import {Manifest} from "./controllers/manifest.js";
import {startRunPage} from "./controllers/run_page.js";
import {html} from "./lib/html.js";
import {ManifestPage} from "./views/manifest_page.js";

const root = document.querySelector("#manifest");
const board = startRunPage(root, new Address());
const manifest = new Manifest(board, root.dataset.object);

render(html`<${ManifestPage} board=${board} manifest=${manifest} />`, root);
manifest.start();
board.start();
