import {html} from "../lib/html.js";

/** What the server refused, until the next thing that works. */
export function Notice({board}) {
  const text = board.notice.value;
  return html`<div class="notice" role="alert" hidden=${!text}>${text}
    ${text && html`<button class="btn plain" onClick=${() => { board.notice.value = ""; }}>Dismiss</button>`}</div>`;
}
