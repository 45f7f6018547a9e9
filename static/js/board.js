import {render} from "preact";

import {followMotion} from "./controllers/board/motion.js";
import {followWhy} from "./controllers/why/why_again.js";
import {Address} from "./controllers/session/address.js";
import {startRunPage} from "./controllers/session/run_page.js";
import {element} from "./lib/dom.js";
import {html} from "./lib/html.js";
import {BoardPage} from "./views/board/board_page.js";

const root = element("#board");
const session = startRunPage(root, new Address());

render(html`<${BoardPage} session=${session} />`, root);
session.evidence.start();
followMotion(session);
followWhy(session);
session.start();
