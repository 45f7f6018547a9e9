import {html} from "../../lib/html.js";
import {gettext} from "../../lib/words.js";
import {observedOf} from "../../model/why/answer.js";

/** What the files of a cluster say of the object, beside what the model predicts; where they contradict, the files win. */
export function Observed({diagnosis}) {
  const known = observedOf(diagnosis);
  if (!known) return null;
  return html`
    <dl class="observed small">
      <div><dt>${gettext("Observed {since}", {since: html`<span class="mute">${known.since}</span>`})}</dt>
        ${known.facts.map((fact, place) => html`<${Fact} key=${place} fact=${fact} />`)}</div>
      ${
        known.predicted &&
        html`<div><dt>${gettext("The model predicts {horizon}", {horizon: html`<span class="mute">${known.horizon}</span>`})}</dt>
        <dd>${known.predicted}</dd></div>`
      }
      ${known.contradiction && html`<div><dt>${gettext("They contradict each other")}</dt><dd>${known.contradiction}</dd></div>`}
    </dl>`;
}

/** A fact with its source and instant. What was played since does not change it: the fact is marked, in words too. */
function Fact({fact: {text, when, mark}}) {
  return html`
    <dd class=${`mono${mark ? " superseded" : ""}`}>${text}${when && html` <span class="micro mute">${when}</span>`}
      ${mark && html`<span class="micro mark">${mark}</span>`}</dd>`;
}
