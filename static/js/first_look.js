import {render} from "preact";

import {FirstLook} from "./controllers/first_look/first_look.js";
import {Address} from "./controllers/session/address.js";
import {startRunPage} from "./controllers/session/run_page.js";
import {html} from "./lib/html.js";
import {FirstLookPage} from "./views/first_look/first_look_page.js";

const root = document.querySelector("#first-look");
const versions = JSON.parse(document.querySelector("#versions").textContent);
const token = document.querySelector("meta[name=csrf-token]").content;
const session = startRunPage(root, new Address(), {hasPlayback: false});
const firstLook = new FirstLook(session);

render(html`<${FirstLookPage} session=${session} firstLook=${firstLook} versions=${versions} token=${token} />`, root);
firstLook.load();
session.start();
