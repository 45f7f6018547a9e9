import {render} from "preact";

import {Address} from "./controllers/address.js";
import {PodRecord} from "./controllers/pod_record.js";
import {startRunPage} from "./controllers/run_page.js";
import {followWhy} from "./controllers/why_again.js";
import {html} from "./lib/html.js";
import {PodPage} from "./views/pod_page.js";

const root = document.querySelector("#pod");
const id = `pod/${root.dataset.pod}`;
const address = new Address({pod: id});
const session = startRunPage(root, address);
const record = new PodRecord({session, id, attempt: address.attempt});

render(html`<${PodPage} session=${session} id=${id} record=${record} />`, root);
record.follow();
followWhy(session);
session.start();
