import {render} from "preact";

import {PodPath} from "./controllers/run/pod_path.js";
import {TimelineEvents} from "./controllers/run/timeline_events.js";
import {Address} from "./controllers/session/address.js";
import {startRunPage} from "./controllers/session/run_page.js";
import {element} from "./lib/dom.js";
import {html} from "./lib/html.js";
import {TimelinePage} from "./views/run/timeline_page.js";

const root = element("#timeline");
const session = startRunPage(root, new Address());
const events = new TimelineEvents(session);
const podPath = new PodPath(session);

render(html`<${TimelinePage} session=${session} events=${events} podPath=${podPath} />`, root);
events.start();
podPath.start();
session.start();
