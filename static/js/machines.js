import {render} from "preact";

import {Address} from "./controllers/address.js";
import {Followed} from "./controllers/followed.js";
import {startRunPage} from "./controllers/run_page.js";
import {html} from "./lib/html.js";
import {MachinesPage} from "./views/machines_page.js";

const root = document.querySelector("#machines");
const versions = JSON.parse(document.querySelector("#versions").textContent);
const session = startRunPage(root, new Address());
const followed = new Followed(session);

render(html`<${MachinesPage} session=${session} followed=${followed} versions=${versions} />`, root);
followed.start();
session.start();
