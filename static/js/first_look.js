import {render} from "preact";

import {FirstLook} from "./controllers/first_look/first_look.js";
import {Address} from "./controllers/session/address.js";
import {startRunPage} from "./controllers/session/run_page.js";
import {element, given, optional} from "./lib/dom.js";
import {html} from "./lib/html.js";
import {FirstLookPage} from "./views/first_look/first_look_page.js";

const root = element("#first-look");
const versions = given("#versions");
const token = optional("meta[name=csrf-token]")?.getAttribute("content") ?? "";
const session = startRunPage(root, new Address(), {hasPlayback: false});
const firstLook = new FirstLook(session);

render(html`<${FirstLookPage} session=${session} firstLook=${firstLook} versions=${versions} token=${token} />`, root);
firstLook.load();
session.start();
