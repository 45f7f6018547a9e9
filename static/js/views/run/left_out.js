import {element} from "../../lib/dom.js";
import {html} from "../../lib/html.js";
import {gettext, listText} from "../../lib/words.js";
import {Mark} from "../shared/mark.js";

/** Shown when a run has used up a part of its budget. */
export function StopBanner({session}) {
  const {stopped_by: part, stop_reason: reason, may_change: mayChange} = session.run.value;
  if (!part) return null;
  return html`
    <div class="past-banner" role="status"><${Mark} name="gated" family="held" /><span>${reason}</span>
      ${mayChange !== false && html`<button class="btn" onClick=${openBudget}>${gettext("Change the budget")}</button>`}</div>`;
}

function openBudget() {
  element("#budget-open").click();
}

/** The kinds in the files that kscope does not simulate, each with the consequence. */
export function LeftOut({session}) {
  const left = session.run.value.not_modelled ?? [];
  if (left.length === 0) return null;
  const names = listText(left.map(({kind}) => kind));
  return html`
    <details class="leftout small mute"><summary>${gettext("Not simulated: {names}", {names})}</summary>
      <ul>${left.map(
        ({kind, group, count: number, note}) => html`
        <li key=${`${group}/${kind}`}>${gettext("{name}: {text}", {name: html`<b>${number} ${kind}</b>`, text: note})}</li>`,
      )}</ul></details>`;
}
