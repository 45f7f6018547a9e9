import {html} from "../../lib/html.js";

/** A sentence in which names stay whole where they have room: a browser breaks lines at their hyphens. */
export function Sentence({text}) {
  return [text].flat().map((part) => (typeof part === "string" ? wholeNames(part) : part));
}

function wholeNames(text) {
  return text.split(/(\S*-\S*)/).map((part, i) => (i % 2 === 1 ? html`<span class="whole">${part}</span>` : part));
}
