import {render} from "preact";

import {Manifest} from "./controllers/run/manifest.js";
import {Address} from "./controllers/session/address.js";
import {startRunPage} from "./controllers/session/run_page.js";
import {followWhy} from "./controllers/why/why_again.js";
import {element} from "./lib/dom.js";
import {html} from "./lib/html.js";
import {ManifestPage} from "./views/run/manifest_page.js";

const root = element("#manifest");
const session = startRunPage(root, new Address());
session.subject = () => root.dataset.object;
const manifest = new Manifest(session, root.dataset.object);

render(html`<${ManifestPage} session=${session} manifest=${manifest} />`, root);
manifest.start();
followWhy(session);
session.start();
