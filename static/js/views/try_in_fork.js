import {useState} from "preact/hooks";

import {html} from "../lib/html.js";

/** Sends a change to a fork instead, made after event *seq*, and leads to what becomes of the pod there. */
export function TryInFork({board, id, commands, order, seq}) {
  const [busy, setBusy] = useState(false);
  const go = async () => {
    setBusy(true);
    await board.tryInFork(id, commands, {seq, order});
    setBusy(false);
  };
  return html`<button class="btn" disabled=${busy} aria-label=${`Try in a fork: ${order}`} onClick=${go}>
    ${busy ? "Forking…" : "Try in a fork"}</button>`;
}
