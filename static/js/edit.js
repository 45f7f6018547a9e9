import {render} from "preact";

import {Editing} from "./controllers/acting/editing.js";
import {Address} from "./controllers/session/address.js";
import {startRunPage} from "./controllers/session/run_page.js";
import {element} from "./lib/dom.js";
import {html} from "./lib/html.js";
import {EditPage} from "./views/acting/edit_page.js";

const root = element("#edit");
const address = new Address();
const session = startRunPage(root, address);
const editing = new Editing(session, address.query("object"), address.query("kind"));

render(html`<${EditPage} session=${session} editing=${editing} />`, root);
editing.start();
session.start();
