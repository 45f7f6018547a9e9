import {useRef} from "preact/hooks";

import {html} from "../../lib/html.js";
import {gettext} from "../../lib/words.js";
import {brief} from "../../model/health/pod.js";
import {nodeAnswer} from "../../model/nodes/node_answer.js";
import {pagesOf, rowsThere} from "../../model/run/rows.js";
import {count, parseId, ratio} from "../../model/shared/format.js";
import {Reading, RunPage, isWaiting} from "../run/run_page.js";
import {roomForRows, useRowsOnPage} from "../shared/in_sight.js";
import {NodeLink} from "../shared/links.js";
import {Mark, Name} from "../shared/mark.js";
import {Pager} from "../shared/pager.js";
import {Unchanged} from "../shared/unchanged.js";
import {RowsMissing, SortHead, foundWords} from "../shared/window.js";

/** The nodes of a run at the event shown, those with problems first; `rows` is the window of them, `size` how many one has. */
export function NodeListPage({session, filters, rows, size}) {
  return html`<${RunPage} session=${session}><${Body} session=${session} filters=${filters} rows=${rows} size=${size} /><//>`;
}

/** A name, as one types it. */
const EXAMPLE = "node-1";

function Body({session, filters, rows, size}) {
  const held = rows.held.value;
  if (isWaiting(session) || !held) {
    return html`<main class="page"><h1>${gettext("Nodes")}</h1>${isWaiting(session) ? html`<${Reading} session=${session} />` : html`<${RowsMissing} rows=${rows} />`}</main>`;
  }
  const {name: text, show, ...chosen} = filters.values.value;
  const stuckOnly = show === "stuck";
  const shown = pagesOf(held, size);
  const heads = {chosen, usual: "state", set: (changes) => filters.set(changes)};
  return html`
    <main class="page" aria-busy=${rows.isLate.value}><div class="pagehead"><h1>${gettext("Nodes")}</h1><span class="micro mute" role="status">${foundWords(held, session)}</span></div>
      <div class="formgrid filters"><label class="input">${gettext("Name")}<input value=${text} placeholder=${EXAMPLE} onInput=${(event) => filters.set({name: event.target.value, page: ""})} /></label>
        <label class="input">${gettext("Show")}<select value=${stuckOnly ? "stuck" : ""} onChange=${(event) => filters.set({show: event.target.value, page: ""})}>
          <option value="">${gettext("all nodes")}</option><option value="stuck">${gettext("nodes with a problem ({stuck})", {stuck: count(held.counts.stuck ?? 0)})}</option></select></label></div>
      <${Rows} session=${session} held=${held}><colgroup><col style="width:20%" /><col style="width:104px" /><col style="width:96px" /><col style="width:112px" /><col style="width:128px" /><col style="width:64px" /><col style="width:72px" /><col /></colgroup>
        <thead><tr><${SortHead} by="name" ...${heads}>${gettext("Node")}<//><${SortHead} by="state" ...${heads}>${gettext("State")}<//><${SortHead} by="zone" ...${heads}>${gettext("Zone")}<//><${SortHead} by="cpu" look="right" ...${heads}>CPU<//><${SortHead} by="memory" look="right" ...${heads}>${gettext("Memory")}<//><${SortHead} by="pods" look="right" ...${heads}>${gettext("Pods")}<//><${SortHead} by="volumes" look="right" ...${heads}>${gettext("Volumes")}<//><th>${gettext("Problem")}</th></tr></thead><//>
      ${shown.pages > 1 && html`<${Pager} shown=${shown} go=${(next) => filters.set({page: next === 0 ? "" : String(next + 1)})} />`}
      ${held.found === 0 && html`<p class="empty">${gettext("No node matches.")}</p>`}
    </main>`;
}

/** @type {any} */
const NONE = {};
/** The answer about a node that was deleted since the rows were put in order. */
const GONE = {mark: "expired", family: "held", words: gettext("deleted"), sentence: ""};

/** The table: its rows are drawn again with every event shown, what is above them is not. */
function Rows({session, held, children}) {
  const {model} = session;
  const {nodes, at} = model;
  /** @type {{current: any}} */
  const table = useRef(null);
  const drawn = useRowsOnPage(table, session.isMoving);
  const found = rowsThere(held, model);
  return html`<table class="tbl pods nodelist" ref=${table} style=${roomForRows(drawn, found.length)}>${children}<tbody>${found
    .slice(0, drawn)
    .map(([id, node]) => {
      const {name} = parseId(id);
      const answer = node ? nodeAnswer(name, node, nodes.pods.get(name) ?? new Map(), at) : GONE;
      const {state, mark, family, words, sentence} = answer;
      return html`<${Unchanged} key=${id} draw=${Row} session=${session} name=${name} node=${node} ...${{state, mark, family, words, sentence}} />`;
    })}</tbody></table>`;
}

function Row({session, name, node: found, state, words, mark, family, sentence}) {
  const node = found ?? NONE;
  const said = brief({state, words});
  const taken = (resource) =>
    node.allocatable?.[resource] === undefined
      ? ""
      : ratio(resource, node.requested?.[resource] ?? 0, node.allocatable[resource]);
  const calm = family === "settled" || family === "held";
  return html`
    <tr><th scope="row"><${NodeLink} session=${session} name=${name}><${Name} name=${name} untitled /><//></th>
      <td title=${said}><span class="state"><${Mark} name=${mark} family=${family} />${said}</span></td><td class="soft" title=${node.zone}>${node.zone ?? ""}</td>
      <td class="right">${taken("cpu")}</td><td class="right">${taken("memory")}</td><td class="right">${node.requested?.pods ?? 0}</td>
      <td class="right">${count(Object.keys(node.attachments ?? {}).length)}</td>
      <td class=${calm ? "mute" : "soft"} title=${sentence}>${family === "settled" ? gettext("none") : sentence}</td></tr>`;
}
