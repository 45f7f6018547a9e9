import {render} from "preact";

import {Followed} from "./controllers/machines/followed.js";
import {Address} from "./controllers/session/address.js";
import {startRunPage} from "./controllers/session/run_page.js";
import {followWhy} from "./controllers/why/why_again.js";
import {element, given} from "./lib/dom.js";
import {html} from "./lib/html.js";
import {MachinesPage} from "./views/machines/machines_page.js";

const root = element("#machines");
const versions = given("#versions");
const session = startRunPage(root, new Address());
const followed = new Followed(session);
session.subject = () => followed.asked();

render(html`<${MachinesPage} session=${session} followed=${followed} versions=${versions} />`, root);
followed.start();
followWhy(session);
session.start();
