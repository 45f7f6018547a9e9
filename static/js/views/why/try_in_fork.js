import {useState} from "preact/hooks";

import {html} from "../../lib/html.js";
import {gettext} from "../../lib/words.js";
import {NO_FORK} from "../../model/shared/rights.js";

/**
 * A button that forks the run after event *seq*, applies the change there and opens the object in the fork.
 * `trial` is what the change promises: {order, node, at, outcome}.
 */
export function TryInFork({session, id, commands, seq, trial}) {
  const [busy, setBusy] = useState(false);
  const go = async () => {
    setBusy(true);
    await session.commands.tryInFork(id, commands, seq, trial);
    setBusy(false);
  };
  return html`<button class="btn" disabled=${busy || !session.mayFork} title=${session.mayFork ? undefined : NO_FORK} aria-label=${gettext("Try in a fork: {order}", {order: trial.order})} onClick=${go}>
    ${busy ? gettext("Forking…") : gettext("Try in a fork")}</button>`;
}
