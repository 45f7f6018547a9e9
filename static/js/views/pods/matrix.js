import {useEffect, useMemo, useRef, useState} from "preact/hooks";

import {html} from "../../lib/html.js";
import {attemptName} from "../../model/pods/evidence.js";
import {ORDERS, cellWords, matrixNote, matrixOf, numbersOf, reasonWords} from "../../model/pods/matrix.js";
import {count} from "../../model/shared/format.js";
import {Icon, Mark} from "../shared/mark.js";
import {useInSight} from "../shared/popover.js";

const ROWS = 30;
const POPOVER = 340;

/** The verdicts of all filters on all nodes; a click on a rejection shows its numbers. */
export function Matrix({evidence, zoneOf, pod}) {
  const [order, setOrder] = useState("closest");
  const [shown, setShown] = useState(ROWS);
  const [open, setOpen] = useState(/** @type {any} */ (null));
  const box = useRef(null);
  // The popover belongs to the previous attempt.
  useEffect(() => setOpen(null), [evidence]);
  const {columns, rows} = useMemo(() => matrixOf(evidence, zoneOf, order), [evidence, order]);
  if (evidence.prefilter) return html`<${Refused} evidence=${evidence} />`;
  const choose = (button, node, plugin, verdict) =>
    setOpen(
      open?.node === node && open.plugin === plugin
        ? null
        : {
            node,
            plugin,
            verdict,
            ...below(button, box.current),
          },
    );
  return html`
    <section class="filtering" aria-label="Filters">
      <div class="sechead"><h2>Filters</h2><span class="note">${matrixNote(evidence)}</span>
        <div class="end"><div class="seg" role="group" aria-label="Order of the nodes">${Object.entries(ORDERS).map(
          ([key, words]) => html`
          <button key=${key} aria-pressed=${String(key === order)} onClick=${() => setOrder(key)}>${words}</button>`,
        )}</div></div></div>
      <div class="matrixbox" ref=${box} onKeyDown=${(event) => event.key === "Escape" && setOpen(null)}>
        <div class="scroll-x" tabindex="0" role="region" aria-label="Verdict matrix">
          <table class="mx"><colgroup><col style="width:148px" />${columns.map(({name, skipped}) => html`<col key=${name} class=${skipped ? "sk" : ""} />`)}</colgroup>
            <thead><tr><th scope="col">${order === "closest" ? "closest first" : "node"}</th>${columns.map(
              ({name, skipped}) => html`
              <th key=${name} scope="col" class=${skipped ? "sk" : ""}>${broken(name)}</th>`,
            )}</tr></thead>
            <tbody>${rows.slice(0, shown).map(
              (row) => html`
              <${Row} key=${row.name} row=${row} columns=${columns} open=${open} choose=${choose} />`,
            )}</tbody>
          </table>
        </div>
        ${open && html`<${Cell} open=${open} pod=${pod} close=${() => setOpen(null)} />`}
      </div>
      ${
        rows.length > shown &&
        html`<p class="small mute after">${count(rows.length - shown)} more nodes
        <button class="btn" onClick=${() => setShown(shown + 5 * ROWS)}>Show more</button></p>`
      }
      <${Key} />
    </section>`;
}

/** A PreFilter plugin rejected the pod before any node was evaluated. */
function Refused({evidence}) {
  return html`
    <section class="filtering" aria-label="Filters">
      <div class="sechead"><h2>Filters</h2><span class="note">${attemptName(evidence)} · rejected in PreFilter</span></div>
      <dl class="kv"><dt>${evidence.prefilter.plugin}</dt><dd>${reasonWords(evidence.prefilter)}</dd></dl>
    </section>`;
}

function Row({row, columns, open, choose}) {
  const head = html`<th scope="row" title=${row.name}><span class="nm">${row.name}</span><span class="z">${row.zone}</span></th>`;
  if (!row.cells) {
    return html`<tr>${head}<td class="ne" colspan=${columns.length}><span>not evaluated in this attempt</span></td></tr>`;
  }
  return html`
    <tr class=${row.kind === "chosen" ? "won" : row.kind}>${head}${row.cells.map(
      (cell, i) => html`
      <${Verdict} key=${i} cell=${cell} node=${row.name} plugin=${columns[i].name}
        expanded=${open?.node === row.name && open.plugin === columns[i].name} choose=${choose} />`,
    )}</tr>`;
}

function Verdict({cell, node, plugin, expanded, choose}) {
  if (cell.kind === "skip") return html`<td class="sk" title="skipped">–</td>`;
  if (cell.kind === "ok")
    return html`<td class="ok"><span role="img" aria-label=${`${node}, ${plugin}: passes`}><${Icon} name="ok" /></span></td>`;
  const words = cellWords(cell.verdict);
  const says = cell.kind === "bad" ? "fails" : "would also fail";
  return html`
    <td class=${cell.kind}><button aria-expanded=${String(expanded)} aria-label=${`${node}, ${plugin}: ${says}, ${words}`}
      title=${cell.verdict.text} onClick=${(event) => choose(event.currentTarget, node, plugin, cell.verdict)}>
      ${cell.kind === "bad" && html`<${Icon} name="no" />`}<span class="cut">${words}</span></button></td>`;
}

/** The position of a popover below a cell, within the box around the table. */
function below(cell, box) {
  const [inner, outer] = [cell.getBoundingClientRect(), box.getBoundingClientRect()];
  const left = Math.max(0, Math.min(inner.left - outer.left, outer.width - POPOVER));
  return {left, top: inner.bottom - outer.top + 6};
}

/** The numbers behind one rejection, below its cell. */
function Cell({open, pod, close}) {
  const {node, plugin, verdict, left, top} = open;
  const rows = numbersOf(verdict, pod);
  const box = useInSight(open);
  return html`
    <div class="pop" id="cell" ref=${box} role="dialog" aria-label=${`Evidence: ${node}, ${plugin}`}
      style=${`left:${left}px;top:${top}px`}>
      <h3><${Mark} name="unschedulable" family="stuck" />${node} · ${plugin}
        <button class="btn icon plain close" aria-label="Close" onClick=${close}><${Icon} name="no" /></button></h3>
      <p class="soft">${reasonWords(verdict)}</p>
      ${verdict.text && rows.every(({look}) => !look) && html`<p class="strong said">${verdict.text}</p>`}
      ${
        rows.length > 0 &&
        html`<table class="sum"><tbody>${rows.map(
          ({label, value, look}, i) => html`
        <tr key=${i} class=${look}><th scope="row">${label}</th><td>${value}</td></tr>`,
        )}</tbody></table>`
      }
    </div>`;
}

function Key() {
  return html`
    <ul class="legend keyline">
      <li><span class="box bad"><${Icon} name="no" /></span>fails, the scheduler stops here</li>
      <li><span class="box also"></span>would also fail</li>
      <li><span class="box"><${Icon} name="ok" /></span>passes</li>
      <li><span class="box sk">–</span>skipped (PreFilter Skip)</li>
      <li><span class="box ne"></span>not evaluated</li></ul>`;
}

/** A plugin's name with a possible line break before each word. */
export function broken(name) {
  return name.split(/(?=[A-Z][a-z])/).flatMap((part, i) => (i > 0 ? [html`<wbr />`, part] : [part]));
}
