import {render} from "preact";

import {Address} from "./controllers/address.js";
import {NodeRecord} from "./controllers/node_record.js";
import {startRunPage} from "./controllers/run_page.js";
import {html} from "./lib/html.js";
import {NodePage} from "./views/node_page.js";

const root = document.querySelector("#node");
const {node: name} = root.dataset;
const session = startRunPage(root, new Address());
const record = new NodeRecord(session, `node/${name}`);

render(html`<${NodePage} session=${session} name=${name} record=${record} />`, root);
record.follow();
session.start();
