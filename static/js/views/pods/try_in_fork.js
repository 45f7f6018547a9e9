import {useState} from "preact/hooks";

import {html} from "../../lib/html.js";
import {NO_FORK} from "../../model/shared/rights.js";

/**
 * A button that forks the run after event *seq*, applies the change there and opens the pod in the fork.
 * `expected` is {node, at}: where and when the pod should be bound.
 */
export function TryInFork({session, id, commands, order, seq, expected}) {
  const [busy, setBusy] = useState(false);
  const go = async () => {
    setBusy(true);
    await session.commands.tryInFork(id, commands, {seq, order, node: expected.node, at: expected.at});
    setBusy(false);
  };
  return html`<button class="btn" disabled=${busy || !session.mayFork} title=${session.mayFork ? undefined : NO_FORK} aria-label=${`Try in a fork: ${order}`} onClick=${go}>
    ${busy ? "Forking…" : "Try in a fork"}</button>`;
}
