import {html} from "../../lib/html.js";
import {gettext} from "../../lib/words.js";

/** A word that has a sense of its own here, with a link to its line of the glossary. */
export function Term({word, children}) {
  return html`<a class="term" href=${`/glossary/#${word}`} title=${gettext("Open the glossary")}>${children}</a>`;
}
