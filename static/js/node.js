import {render} from "preact";

import {NodeRecord} from "./controllers/nodes/node_record.js";
import {Address} from "./controllers/session/address.js";
import {startRunPage} from "./controllers/session/run_page.js";
import {followWhy} from "./controllers/why/why_again.js";
import {element} from "./lib/dom.js";
import {html} from "./lib/html.js";
import {NodePage} from "./views/nodes/node_page.js";

const root = element("#node");
const {node: name} = root.dataset;
const session = startRunPage(root, new Address());
session.subject = () => `node/${name}`;
const record = new NodeRecord(session, `node/${name}`);

render(html`<${NodePage} session=${session} name=${name} record=${record} />`, root);
record.follow();
followWhy(session);
session.start();
