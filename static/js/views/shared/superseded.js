import {html} from "../../lib/html.js";
import {supersededWords} from "../../model/run/superseded.js";

/** The mark of what was observed of objects that have gone on since the run was played; nothing before that. */
export function Superseded({session, ids}) {
  const words = supersededWords(ids, session.model);
  return words && html`<span class="micro mark supersededby">${words}</span>`;
}
