import {html} from "../../lib/html.js";

/** A word that has a sense of its own here, with a link to its line of the glossary. */
export function Term({word, children}) {
  return html`<a class="term" href=${`/glossary/#${word}`} title="Open the glossary">${children}</a>`;
}
