import {render} from "preact";

import {Inside} from "./controllers/inside/inside.js";
import {connectInsideKeys} from "./controllers/inside/keys.js";
import {Address} from "./controllers/session/address.js";
import {startRunPage} from "./controllers/session/run_page.js";
import {element} from "./lib/dom.js";
import {html} from "./lib/html.js";
import {InsideVolumesPage} from "./views/inside/inside_page.js";

const root = element("#inside");
const session = startRunPage(root, new Address());
const inside = new Inside(session);

connectInsideKeys(inside);
render(html`<${InsideVolumesPage} session=${session} inside=${inside} />`, root);
inside.start();
session.start();
