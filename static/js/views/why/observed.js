import {html} from "../../lib/html.js";
import {observedOf} from "../../model/why/answer.js";

/** What the files of a cluster say of the object, beside what the model predicts; where they contradict, the files win. */
export function Observed({diagnosis}) {
  const known = observedOf(diagnosis);
  if (!known) return null;
  return html`
    <dl class="observed small">
      <div><dt>Observed <span class="mute">${known.since}</span></dt>
        ${known.facts.map((fact) => html`<dd key=${fact} class="mono">${fact}</dd>`)}</div>
      ${
        known.predicted &&
        html`<div><dt>The model predicts <span class="mute">for the next minute; nothing was played</span></dt>
        <dd>${known.predicted}</dd></div>`
      }
      ${known.contradiction && html`<div><dt>They contradict each other</dt><dd>${known.contradiction}</dd></div>`}
    </dl>`;
}
