import {html} from "../../lib/html.js";
import {gettext, labelled, listText, ngettext} from "../../lib/words.js";
import {attemptName} from "../../model/pods/evidence.js";
import {CRITERIA, nodesWithoutHelp, preemptionNote, candidatesOf} from "../../model/pods/preemption.js";
import {parseId} from "../../model/shared/format.js";

const CANDIDATES = 20;

/** How preemption chose its node, criterion by criterion; nothing if it was not tried. */
export function Preemption({evidence}) {
  const {preemption} = evidence;
  if (!preemption) return null;
  const {rows, left} = candidatesOf(preemption);
  return html`
    <section aria-label=${gettext("Preemption")}>
      <div class="sechead"><h2>${gettext("Preemption")}</h2><span class="note">${attemptName(evidence)} · ${preemptionNote(preemption)}</span></div>
      ${rows.length > 0 && html`<${Table} rows=${rows} left=${left} />`}
      ${rows.length > CANDIDATES && html`<p class="micro mute after">${ngettext("{count} more candidate", "{count} more candidates", rows.length - CANDIDATES)}</p>`}
      ${preemption.message && html`<p class="small soft after">${preemption.message}</p>`}
      <${WithoutHelp} preemption=${preemption} />
    </section>`;
}

function Table({rows, left}) {
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label=${gettext("Preemption candidates")}>
      <table class="tbl preemption">
        <colgroup><col style="width:84px" /><col style="width:150px" /><col style="width:76px" /><col style="width:76px" /><col style="width:120px" /><col style="width:60px" /><col /></colgroup>
        <thead><tr><th scope="col">${gettext("Candidate")}</th><th scope="col">${gettext("Victims")}</th>${Object.values(
          CRITERIA,
        ).map(
          (words, i) => html`
          <th key=${words} scope="col"><i>${i + 1}</i>${words}</th>`,
        )}</tr></thead>
        <tbody>${rows.slice(0, CANDIDATES).map(
          ({node, victims, reprieved, chosen, cells}) => html`
          <tr key=${node} class=${chosen ? "win" : ""}><th scope="row" class="mono cut" title=${node}>${node}</th>
            <td title=${who(victims, reprieved)}>${names(victims)}${reprieved.length > 0 && html` <span class="micro mute">${ngettext("{count} reprieved", "{count} reprieved", reprieved.length)}</span>`}</td>
            ${cells.map(({text, state}, i) => html`<td key=${i} class=${state} aria-label=${state === "gone" ? gettext("eliminated earlier") : undefined}>${text}</td>`)}</tr>`,
        )}</tbody>
        <tfoot><tr><th scope="row" colspan="2">${gettext("candidates left")}</th>${left.map((many, i) => html`<td key=${i}>${many ?? ""}</td>`)}</tr></tfoot>
      </table></div>`;
}

function WithoutHelp({preemption}) {
  const found = nodesWithoutHelp(preemption);
  if (found.length === 0) return null;
  return html`
    <h3 class="after">${gettext("Nodes where preemption cannot help")}</h3>
    <dl class="kv">${found.map(
      ([reason, nodes]) => html`
      <dt key=${reason}>${ngettext("{count} node", "{count} nodes", nodes)}</dt><dd>${reason}</dd>`,
    )}</dl>`;
}

function names(keys) {
  return listText(keys.map((key) => parseId(`pod/${key}`).name)) || gettext("none");
}

function who(victims, reprieved) {
  const lines = [labelled(gettext("Victims"), listText(victims) || gettext("none"))];
  if (reprieved.length > 0) lines.push(labelled(gettext("Reprieved"), listText(reprieved)));
  return lines.join("\n");
}
