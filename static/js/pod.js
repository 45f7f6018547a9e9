import {render} from "preact";

import {PodRecord} from "./controllers/pods/pod_record.js";
import {followWhy} from "./controllers/why/why_again.js";
import {Address} from "./controllers/session/address.js";
import {startRunPage} from "./controllers/session/run_page.js";
import {element} from "./lib/dom.js";
import {html} from "./lib/html.js";
import {PodPage} from "./views/pods/pod_page.js";

const root = element("#pod");
const id = `pod/${root.dataset.pod}`;
const address = new Address({pod: id});
const session = startRunPage(root, address);
const record = new PodRecord({session, id, attempt: address.read().attempt});

render(html`<${PodPage} session=${session} id=${id} record=${record} />`, root);
record.follow();
followWhy(session);
session.start();
