import {useState} from "preact/hooks";

import {html} from "../../lib/html.js";
import {NO_FORK} from "../../model/shared/rights.js";

/**
 * Sends a change to a fork instead, made after event *seq*, and leads to what becomes of the pod there.
 * `promise` is where, {node}, and when, {at}, it is to be bound.
 */
export function TryInFork({session, id, commands, order, seq, promise}) {
  const [busy, setBusy] = useState(false);
  const go = async () => {
    setBusy(true);
    await session.commands.tryInFork(id, commands, {seq, order, node: promise.node, at: promise.at});
    setBusy(false);
  };
  return html`<button class="btn" disabled=${busy || !session.mayFork} title=${session.mayFork ? undefined : NO_FORK} aria-label=${`Try in a fork: ${order}`} onClick=${go}>
    ${busy ? "Forking…" : "Try in a fork"}</button>`;
}
