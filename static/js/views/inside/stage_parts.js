import {html} from "../../lib/html.js";

/** Numbers in a row, [what, value]; the last one is the result. */
export function Rule({facts}) {
  return html`<dl class="rule">${facts.map(([what, value], place) => html`<div key=${what} class=${place === facts.length - 1 ? "now" : ""}><dt>${what}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** A remark below a picture. */
export function Note({children}) {
  return html`<p class="note">${children}</p>`;
}
