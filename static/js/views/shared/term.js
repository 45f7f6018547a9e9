import {html} from "../../lib/html.js";

/** A word that has a sense of its own here, with a link to its line of the glossary; page.js has it explained. */
export function Term({word, children}) {
  return html`<a class="term" href=${`/glossary/#${word}`}>${children}</a>`;
}
