import {useEffect, useMemo, useRef, useState} from "preact/hooks";

import {html} from "../../lib/html.js";
import {gettext, labelled, listText, ngettext} from "../../lib/words.js";
import {attemptName} from "../../model/pods/evidence.js";
import {
  ORDERS,
  cellWords,
  foldSkipped,
  matrixNote,
  matrixOf,
  numbersOf,
  reasonWords,
  widthOf,
} from "../../model/pods/matrix.js";
import {count} from "../../model/shared/format.js";
import {verdictLook} from "../../model/volumes/candidates.js";
import {Icon, Mark, Name} from "../shared/mark.js";
import {useInSight} from "../shared/popover.js";

const ROWS = 30;
const POPOVER = 340;
const CANDIDATES = 8;
/** Of the column with the names of the nodes, in CSS pixels. */
const NAMES = 148;

/** The filter of which every cell shows what volumes there are for the node. */
const BINDING = "VolumeBinding";

/**
 * The verdicts of all filters on all nodes; a click on a rejection shows its numbers. `binding` has the `claims` of the
 * pod, "shop/data", and `read(claim, node)`, which resolves to the candidate volumes before the attempt.
 */
export function Matrix({evidence, zoneOf, pod, binding}) {
  const [order, setOrder] = useState("closest");
  const [shown, setShown] = useState(ROWS);
  const [open, setOpen] = useState(/** @type {any} */ (null));
  const box = useRef(null);
  // The popover belongs to the previous attempt.
  useEffect(() => setOpen(null), [evidence]);
  const [unfolded, setUnfolded] = useState(false);
  const whole = useMemo(() => matrixOf(evidence, zoneOf, order), [evidence, order]);
  const small = useMemo(() => foldSkipped(whole), [whole]);
  const matrix = unfolded ? whole : small;
  const {columns, rows} = matrix;
  const widths = useMemo(() => columns.map((_, i) => widthOf(matrix, i)), [matrix]);
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
    <section class="filtering" aria-label=${gettext("Filters")}>
      <div class="sechead"><h2>${gettext("Filters")}</h2><span class="note">${matrixNote(evidence)}</span>
        <div class="end">${small.columns.length < whole.columns.length && html`<${FoldButton} small=${small} unfolded=${unfolded} turn=${setUnfolded} />`}<div class="seg" role="group" aria-label=${gettext("Order of the nodes")}>${Object.entries(
          ORDERS,
        ).map(
          ([key, words]) => html`
          <button key=${key} aria-pressed=${String(key === order)} onClick=${() => setOrder(key)}>${words}</button>`,
        )}</div></div></div>
      <div class="matrixbox" ref=${box} onKeyDown=${(event) => event.key === "Escape" && setOpen(null)}>
        <div class="scroll-x" tabindex="0" role="region" aria-label=${gettext("Verdict matrix")}>
          <table class="mx" style=${`min-width:${widths.reduce((sum, width) => sum + width, NAMES)}px`}><colgroup><col style=${`width:${NAMES}px`} />${columns.map(({name}, i) => html`<col key=${name} style=${`width:${widths[i]}px`} />`)}</colgroup>
            <thead><tr><th scope="col">${order === "closest" ? gettext("closest first") : gettext("node")}</th>${columns.map(
              ({name, skipped, folded}) => html`
              <th key=${name} scope="col" class=${skipped ? "sk" : ""} title=${folded && listText(folded)}>${broken(name)}</th>`,
            )}</tr></thead>
            <tbody>${rows.slice(0, shown).map(
              (row) => html`
              <${Row} key=${row.name} row=${row} columns=${columns} open=${open} choose=${choose} binds=${binding.claims.length > 0} />`,
            )}</tbody>
          </table>
        </div>
        ${open && html`<${Cell} open=${open} pod=${pod} binding=${binding} close=${() => setOpen(null)} />`}
      </div>
      ${
        rows.length > shown &&
        html`<p class="small mute after">${ngettext("{count} more node", "{count} more nodes", rows.length - shown)}<button class="btn" onClick=${() => setShown(shown + 5 * ROWS)}>${gettext("Show more")}</button></p>`
      }
      <${Key} />
    </section>`;
}

/** Shows the filters that skipped the pod, each in a column, or folds them into one. */
function FoldButton({small, unfolded, turn}) {
  const names = small.columns.at(-1).folded;
  return html`<button class="btn" aria-pressed=${String(unfolded)} title=${listText(names)} onClick=${() => turn(!unfolded)}>${ngettext("{count} skipped filter", "{count} skipped filters", names.length)}</button>`;
}

/** A PreFilter plugin rejected the pod before any node was evaluated. */
function Refused({evidence}) {
  return html`
    <section class="filtering" aria-label=${gettext("Filters")}>
      <div class="sechead"><h2>${gettext("Filters")}</h2><span class="note">${[attemptName(evidence), gettext("rejected in PreFilter")].join(" · ")}</span></div>
      <dl class="kv"><dt>${evidence.prefilter.plugin}</dt><dd>${reasonWords(evidence.prefilter)}</dd></dl>
    </section>`;
}

function Row({row, columns, open, choose, binds}) {
  const head = html`<th scope="row" title=${listText([row.name, row.zone].filter(Boolean))}><span class="who"><${Name} name=${row.name} untitled /><span class="z">${row.zone}</span></span></th>`;
  if (!row.cells) {
    return html`<tr>${head}<td class="ne" colspan=${columns.length}><span>${gettext("not evaluated in this attempt")}</span></td></tr>`;
  }
  return html`
    <tr class=${row.kind === "chosen" ? "won" : row.kind}>${head}${row.cells.map(
      (cell, i) => html`
      <${Verdict} key=${i} cell=${cell} node=${row.name} plugin=${columns[i].name}
        expanded=${open?.node === row.name && open.plugin === columns[i].name} choose=${choose} asks=${binds && columns[i].name === BINDING} />`,
    )}</tr>`;
}

function Verdict({cell, node, plugin, expanded, choose, asks}) {
  if (cell.kind === "skip") return html`<td class="sk" title=${gettext("skipped")}>–</td>`;
  if (cell.kind === "ok" && asks)
    return html`<td class="ok"><button aria-expanded=${String(expanded)} aria-label=${gettext("{node}, {plugin}: passes, candidate volumes", {node, plugin})}
      title=${gettext("Candidate volumes")} onClick=${(event) => choose(event.currentTarget, node, plugin, null)}><${Icon} name="ok" /></button></td>`;
  if (cell.kind === "ok")
    return html`<td class="ok"><span role="img" aria-label=${gettext("{node}, {plugin}: passes", {node, plugin})}><${Icon} name="ok" /></span></td>`;
  const words = cellWords(cell.verdict);
  const says = cell.kind === "bad" ? gettext("fails") : gettext("would also fail");
  return html`
    <td class=${cell.kind}><button aria-expanded=${String(expanded)} aria-label=${labelled(listText([node, plugin]), listText([says, words]))}
      title=${labelled(words, cell.verdict.text)} onClick=${(event) => choose(event.currentTarget, node, plugin, cell.verdict)}>
      ${cell.kind === "bad" && html`<${Icon} name="no" />`}<span class="cut">${words}</span></button></td>`;
}

/** The position of a popover below a cell, within the box around the table. */
function below(cell, box) {
  const [inner, outer] = [cell.getBoundingClientRect(), box.getBoundingClientRect()];
  const left = Math.max(0, Math.min(inner.left - outer.left, outer.width - POPOVER));
  return {left, top: inner.bottom - outer.top + 6};
}

/** The numbers behind one rejection, below its cell. */
function Cell({open, pod, binding, close}) {
  const {node, plugin, verdict, left, top} = open;
  const rows = verdict ? numbersOf(verdict, pod) : [];
  const box = useInSight(open);
  return html`
    <div class="pop" id="cell" ref=${box} role="dialog" aria-label=${gettext("Evidence: {node}, {plugin}", {node, plugin})}
      style=${`left:${left}px;top:${top}px`}>
      <h3>${verdict ? html`<${Mark} name="unschedulable" family="stuck" />` : html`<${Mark} name="ok" family="settled" />`}${node} · ${plugin}
        <button class="btn icon plain close" aria-label=${gettext("Close")} onClick=${close}><${Icon} name="no" /></button></h3>
      ${verdict && html`<p class="soft">${reasonWords(verdict)}</p>`}
      ${verdict?.text && rows.every(({look}) => !look) && html`<p class="strong said">${verdict.text}</p>`}
      ${
        rows.length > 0 &&
        html`<table class="sum"><tbody>${rows.map(
          ({label, value, look}, i) => html`
        <tr key=${i} class=${look}><th scope="row">${label}</th><td>${value}</td></tr>`,
        )}</tbody></table>`
      }
      ${plugin === BINDING && binding.claims.map((claim) => html`<${ForNode} key=${`${claim} ${node}`} claim=${claim} node=${node} read=${binding.read} />`)}
    </div>`;
}

/** The volumes that matching looks at for a claim on one node, with its verdict on each. */
function ForNode({claim, node, read}) {
  const [held, setHeld] = useState(/** @type {any} */ ({status: "loading"}));
  useEffect(() => {
    let wanted = true;
    read(claim, node)
      .then((answer) => wanted && setHeld({status: "ready", answer}))
      .catch(({message}) => wanted && setHeld({status: "failed", message}));
    return () => {
      wanted = false;
    };
  }, [claim, node]);
  const {status, answer, message} = held;
  return html`
    <h4 class="forclaim">${gettext("Volumes for {claim}", {claim})}</h4>
    ${status === "loading" && html`<p class="small mute" role="status">${gettext("Evaluating candidates…")}</p>`}
    ${status === "failed" && html`<p class="small" role="alert">${message}</p>`}
    ${answer?.volumes === 0 && html`<p class="small mute">${gettext("The cluster had no volume.")}</p>`}
    ${
      answer &&
      html`<ul class="forvolumes">${answer.candidates.slice(0, CANDIDATES).map(({volume, verdict, text}) => {
        const [mark, family, words] = verdictLook(verdict, true);
        return html`<li key=${volume}><${Mark} name=${mark} family=${family} /><b>${volume}</b> <span class="soft">${labelled(words, text)}</span></li>`;
      })}</ul>`
    }
    ${answer?.volumes > CANDIDATES && html`<p class="micro mute">${gettext("{volumes} more", {volumes: count(answer.volumes - CANDIDATES)})}</p>`}`;
}

function Key() {
  return html`
    <ul class="legend keyline">
      <li><span class="box bad"><${Icon} name="no" /></span>${gettext("fails, the scheduler stops here")}</li>
      <li><span class="box also"></span>${gettext("would also fail")}</li>
      <li><span class="box"><${Icon} name="ok" /></span>${gettext("passes")}</li>
      <li><span class="box sk">–</span>${gettext("skipped (PreFilter Skip)")}</li>
      <li><span class="box ne"></span>${gettext("not evaluated")}</li></ul>`;
}

/** A plugin's name with a possible line break before each word. */
export function broken(name) {
  return name.split(/(?=[A-Z][a-z])/).flatMap((part, i) => (i > 0 ? [html`<wbr />`, part] : [part]));
}
