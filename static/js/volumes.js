import {render} from "preact";

import {Address} from "./controllers/address.js";
import {Candidates} from "./controllers/candidates.js";
import {Chosen} from "./controllers/chosen.js";
import {startRunPage} from "./controllers/run_page.js";
import {html} from "./lib/html.js";
import {VolumesPage} from "./views/volumes_page.js";

const root = document.querySelector("#volumes");
const session = startRunPage(root, new Address());
const chosen = new Chosen(session);
const candidates = new Candidates(session, chosen);

render(html`<${VolumesPage} session=${session} chosen=${chosen} candidates=${candidates} />`, root);
chosen.start();
candidates.start();
session.start();
