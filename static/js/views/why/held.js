import {html} from "../../lib/html.js";
import {holdWords} from "../../model/shared/terminating.js";

/** What delays the deletion of a terminating object; nothing for another one. */
export function Held({session, id}) {
  const words = holdWords(id, session.model);
  return words && html`<p class="small f-stuck tinted held">${words}</p>`;
}
