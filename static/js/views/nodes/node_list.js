import {html} from "../../lib/html.js";
import {gettext} from "../../lib/words.js";
import {brief} from "../../model/health/pod.js";
import {listNodes} from "../../model/nodes/node_list.js";
import {count, ratio} from "../../model/shared/format.js";
import {Reading, RunPage, isWaiting} from "../run/run_page.js";
import {NodeLink} from "../shared/links.js";
import {Mark, Name} from "../shared/mark.js";
import {Pager, pageOf} from "../shared/pager.js";

const ROWS = 200;

/** The nodes of a run at the event shown, those with problems first. */
export function NodeListPage({session, filters}) {
  return html`<${RunPage} session=${session}><${Body} session=${session} filters=${filters} /><//>`;
}

/** A name, as one types it. */
const EXAMPLE = "node-1";

function Body({session, filters}) {
  if (isWaiting(session)) {
    return html`<main class="page"><h1>${gettext("Nodes")}</h1><${Reading} session=${session} /></main>`;
  }
  const {nodes, at} = session.model;
  const {name: text, show, page: asked} = filters.values.value;
  const stuckOnly = show === "stuck";
  const {rows, found, stuck, page, pages} = listNodes(nodes, {text, stuckOnly, page: pageOf(asked)}, at, ROWS);
  return html`
    <main class="page"><div class="pagehead"><h1>${gettext("Nodes")}</h1><span class="micro mute" role="status">${gettext("{found} found", {found: count(found)})}</span></div>
      <div class="formgrid filters"><label class="input">${gettext("Name")}<input value=${text} placeholder=${EXAMPLE} onInput=${(event) => filters.set({name: event.target.value, page: ""})} /></label>
        <label class="input">${gettext("Show")}<select value=${stuckOnly ? "stuck" : ""} onChange=${(event) => filters.set({show: event.target.value, page: ""})}>
          <option value="">${gettext("all nodes")}</option><option value="stuck">${gettext("nodes with a problem ({stuck})", {stuck: count(stuck)})}</option></select></label></div>
      <table class="tbl pods nodelist"><colgroup><col style="width:20%" /><col style="width:104px" /><col style="width:96px" /><col style="width:112px" /><col style="width:128px" /><col style="width:64px" /><col style="width:72px" /><col /></colgroup>
        <thead><tr><th>${gettext("Node")}</th><th>${gettext("State")}</th><th>${gettext("Zone")}</th><th class="right">CPU</th><th class="right">${gettext("Memory")}</th><th class="right">${gettext("Pods")}</th><th class="right">${gettext("Volumes")}</th><th>${gettext("Problem")}</th></tr></thead>
        <tbody>${rows.map(({name, node, answer}) => html`<${Row} key=${name} session=${session} name=${name} node=${node} answer=${answer} />`)}</tbody></table>
      ${pages > 1 && html`<${Pager} shown=${{page, pages}} go=${(next) => filters.set({page: next === 0 ? "" : String(next + 1)})} />`}
      ${found === 0 && html`<p class="empty">${gettext("No node matches.")}</p>`}
    </main>`;
}

function Row({session, name, node, answer}) {
  const {mark, family} = answer;
  const taken = (resource) =>
    node.allocatable?.[resource] === undefined
      ? ""
      : ratio(resource, node.requested?.[resource] ?? 0, node.allocatable[resource]);
  const calm = answer.family === "settled" || answer.family === "held";
  return html`
    <tr><th scope="row"><${NodeLink} session=${session} name=${name}><${Name} name=${name} untitled /><//></th>
      <td title=${brief(answer)}><span class="state"><${Mark} name=${mark} family=${family} />${brief(answer)}</span></td><td class="soft" title=${node.zone}>${node.zone ?? ""}</td>
      <td class="right">${taken("cpu")}</td><td class="right">${taken("memory")}</td><td class="right">${node.requested?.pods ?? 0}</td>
      <td class="right">${count(Object.keys(node.attachments ?? {}).length)}</td>
      <td class=${calm ? "mute" : "soft"} title=${answer.sentence}>${answer.family === "settled" ? gettext("none") : answer.sentence}</td></tr>`;
}
