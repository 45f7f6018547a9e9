import {signal} from "@preact/signals";
import {render} from "preact";

import {PodPath} from "../controllers/run/pod_path.js";
import {TimelineEvents} from "../controllers/run/timeline_events.js";
import {Address} from "../controllers/session/address.js";
import {startRunPage} from "../controllers/session/run_page.js";
import {element} from "../lib/dom.js";
import {html} from "../lib/html.js";
import {RunPage} from "../views/run/run_page.js";
import {TablePage} from "../views/run/timeline_page.js";

/** The events of the run as a table: lanes are laid out by the engine that knows what each object was when. */
const root = element("#timeline");
const session = startRunPage(root, new Address());
const podPath = new PodPath(session);
const events = new TimelineEvents(session);

render(
  html`<${RunPage} session=${session}><${TablePage} session=${session} events=${events} podPath=${podPath} onLanes=${null} /><//>`,
  root,
);
events.start(signal(true));
podPath.start();
session.start();
