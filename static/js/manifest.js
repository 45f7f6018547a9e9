import {render} from "preact";

import {Address} from "./controllers/address.js";
import {Manifest} from "./controllers/manifest.js";
import {startRunPage} from "./controllers/run_page.js";
import {html} from "./lib/html.js";
import {ManifestPage} from "./views/manifest_page.js";

const root = document.querySelector("#manifest");
const session = startRunPage(root, new Address());
const manifest = new Manifest(session, root.dataset.object);

render(html`<${ManifestPage} session=${session} manifest=${manifest} />`, root);
manifest.start();
session.start();
