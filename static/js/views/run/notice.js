import {html} from "../../lib/html.js";
import {gettext} from "../../lib/words.js";

/** The last error, until a request succeeds; with "Try again" if repeating the request is safe. */
export function Notice({session}) {
  const text = session.notices.message.value;
  const again = session.notices.again.value;
  const dismiss = () => {
    session.notices.message.value = "";
  };
  const retry = () => {
    dismiss();
    again.retry();
  };
  return html`<div class="notice" role="alert" hidden=${!text}><span>${text}</span>
    ${
      text &&
      html`<span class="does">${again?.message === text && html`<button class="btn plain" onClick=${retry}>${gettext("Try again")}</button>`}
      <button class="btn plain" onClick=${dismiss}>${gettext("Dismiss")}</button></span>`
    }</div>`;
}
