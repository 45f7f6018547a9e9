import {effect} from "@preact/signals";
import {render} from "preact";

import {Address} from "./controllers/session/address.js";
import {startRunPage} from "./controllers/session/run_page.js";
import {connectTriageKeys} from "./controllers/triage/keys.js";
import {Triage} from "./controllers/triage/triage.js";
import {element, optional} from "./lib/dom.js";
import {html} from "./lib/html.js";
import {TriagePage} from "./views/triage/triage_page.js";

const root = element("#triage");
const address = new Address();
const session = startRunPage(root, address, {hasPlayback: false});
const triage = new Triage(session);

render(html`<${TriagePage} session=${session} triage=${triage} />`, root);
connectTriageKeys(triage);
triage.ask();
// A link from the first look names a cause.
const named = /^cause-(\d+)$/.exec(address.anchor);
if (named) triage.choose(Number(named[1]));
session.start();

const badge = optional(".tabs .tcount");
effect(() => {
  const number = triage.number.value;
  if (number === null || !badge) return;
  badge.hidden = number === 0;
  badge.textContent = String(number);
});
