import {html} from "../lib/html.js";

/** What went wrong, until the next thing that works; with a button to try again where that is safe. */
export function Notice({board}) {
  const text = board.notice.value;
  const again = board.again.value;
  const dismiss = () => {
    board.notice.value = "";
  };
  const retry = () => {
    dismiss();
    again.retry();
  };
  return html`<div class="notice" role="alert" hidden=${!text}><span>${text}</span>
    ${
      text &&
      html`<span class="does">${again?.message === text && html`<button class="btn plain" onClick=${retry}>Try again</button>`}
      <button class="btn plain" onClick=${dismiss}>Dismiss</button></span>`
    }</div>`;
}
