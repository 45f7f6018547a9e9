import {render} from "preact";

import {Address} from "./controllers/address.js";
import {followMotion} from "./controllers/motion.js";
import {startRunPage} from "./controllers/run_page.js";
import {followWhy} from "./controllers/why_again.js";
import {html} from "./lib/html.js";
import {BoardPage} from "./views/board_page.js";

const root = document.querySelector("#board");
const session = startRunPage(root, new Address());

render(html`<${BoardPage} session=${session} />`, root);
session.evidence.start();
followMotion(session);
followWhy(session);
session.start();
