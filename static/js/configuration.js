import {render} from "preact";

import {Address} from "./controllers/session/address.js";
import {startRunPage} from "./controllers/session/run_page.js";
import {element, given} from "./lib/dom.js";
import {html} from "./lib/html.js";
import {ConfigurationPage} from "./views/acting/configuration_page.js";

const root = element("#configuration");
const session = startRunPage(root, new Address());

render(html`<${ConfigurationPage} session=${session} given=${given("#in-force")} />`, root);
session.start();
