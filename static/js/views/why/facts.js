import {html} from "../../lib/html.js";
import {gettext, ngettext} from "../../lib/words.js";
import {factParts} from "../../model/why/facts.js";
import {ObjectLink} from "../shared/links.js";

/**
 * The fields of objects that make a cause true at event *seq*, behind a line that opens. The sentences in
 * `said` are not repeated.
 */
export function Facts({session, facts, said, isOpen, seq}) {
  return html`
    <details class="facts" open=${isOpen}><summary class="micro soft">${ngettext("{count} fact", "{count} facts", facts.length)}</summary>
      <ul class="micro">${facts.map((fact, place) => html`<${Fact} key=${place} session=${session} fact=${fact} isSaid=${said.includes(fact.text)} seq=${seq} />`)}</ul></details>`;
}

function Fact({session, fact, isSaid, seq}) {
  const {object, name, field, value, compared} = factParts(fact);
  return html`
    <li>${!isSaid && fact.text}
      <span class="where"><${ObjectLink} session=${session} id=${object} seq=${seq}>${name}<//> <code>${field}</code> = <${Value} value=${value} />${
        compared && html`<span class="mute"> ${gettext("compared with")} </span><${Value} value=${compared} />`
      }</span></li>`;
}

function Value({value: {text, whole}}) {
  return html`<code title=${whole || undefined}>${text}</code>`;
}
