import {signal} from "@preact/signals";
import {render} from "preact";

import {PodPath} from "./controllers/run/pod_path.js";
import {TimelineEvents} from "./controllers/run/timeline_events.js";
import {Address} from "./controllers/session/address.js";
import {startRunPage} from "./controllers/session/run_page.js";
import {connectTimelineKeys} from "./controllers/timeline/keys.js";
import {TimelineTrace} from "./controllers/timeline/trace.js";
import {element} from "./lib/dom.js";
import {html} from "./lib/html.js";
import {isTable} from "./model/run/timeline_filters.js";
import {TimelinePage} from "./views/timeline/timeline_page.js";

const root = element("#timeline");
const session = startRunPage(root, new Address());
const podPath = new PodPath(session);
const events = new TimelineEvents(session);
const trace = new TimelineTrace(session, podPath);
const asTable = signal(isTable(session.address.search));

render(html`<${TimelinePage} session=${session} trace=${trace} events=${events} asTable=${asTable} />`, root);
connectTimelineKeys(trace);
events.start(asTable);
podPath.start();
trace.start(asTable);
session.start();
