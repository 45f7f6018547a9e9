import {useRef} from "preact/hooks";

import {html} from "../../lib/html.js";
import {gettext} from "../../lib/words.js";
import {brief, podHealth} from "../../model/health/pod.js";
import {PLACES} from "../../model/pods/pod.js";
import {pagesOf, rowsThere} from "../../model/run/rows.js";
import {count, parseId} from "../../model/shared/format.js";
import {Reading, RunPage, isWaiting} from "../run/run_page.js";
import {roomForRows, useRowsOnPage} from "../shared/in_sight.js";
import {podHref} from "../shared/links.js";
import {Mark, Name} from "../shared/mark.js";
import {Pager} from "../shared/pager.js";
import {Unchanged} from "../shared/unchanged.js";
import {RowsMissing, SortHead, foundWords} from "../shared/window.js";

/** The pods of a run at the event shown, waiting pods first; `rows` is the window of them, `size` how many one has. */
export function PodListPage({session, filters, rows, size}) {
  return html`<${RunPage} session=${session}><${Body} session=${session} filters=${filters} rows=${rows} size=${size} /><//>`;
}

function Body({session, filters, rows, size}) {
  const held = rows.held.value;
  if (isWaiting(session) || !held) {
    return html`<main class="page"><h1>${gettext("Pods")}</h1>${isWaiting(session) ? html`<${Reading} session=${session} />` : html`<${RowsMissing} rows=${rows} />`}</main>`;
  }
  const {name: text, state, ...chosen} = filters.values.value;
  const place = PLACES.some(([key]) => key === state) ? state : "";
  const shown = pagesOf(held, size);
  const heads = {chosen, usual: "state", set: (changes) => filters.set(changes)};
  return html`
    <main class="page" aria-busy=${rows.isLate.value}><div class="pagehead"><h1>${gettext("Pods")}</h1><span class="micro mute" role="status">${foundWords(held, session)}</span></div>
      <div class="formgrid filters"><label class="input">${gettext("Name")}<input value=${text} placeholder="shop/web" onInput=${(event) => filters.set({name: event.target.value, page: ""})} /></label>
        <label class="input">${gettext("State")}<select value=${place} onChange=${(event) => filters.set({state: event.target.value, page: ""})}>
          <option value="">${gettext("all")}</option>${PLACES.map(([key, words]) => html`<option key=${key} value=${key} selected=${key === place}>${words} (${count(held.counts[key] ?? 0)})</option>`)}</select></label></div>
      <${Rows} session=${session} held=${held}><colgroup><col style="width:26%" /><col style="width:24%" /><col style="width:72px" /><col style="width:80px" /><col /></colgroup>
        <thead><tr><${SortHead} by="name" ...${heads}>${gettext("Pod")}<//><${SortHead} by="state" ...${heads}>${gettext("State")}<//><${SortHead} by="priority" look="right" ...${heads}>${gettext("Priority")}<//><${SortHead} by="attempts" look="right" ...${heads}>${gettext("Attempts")}<//><th>${gettext("Blocked by")}</th></tr></thead><//>
      ${shown.pages > 1 && html`<${Pager} shown=${shown} go=${(next) => filters.set({page: next === 0 ? "" : String(next + 1)})} />`}
      ${held.found === 0 && html`<p class="empty">${gettext("No pod matches.")}</p>`}
    </main>`;
}

/** The table: its rows are drawn again with every event shown, what is above them is not. */
function Rows({session, held, children}) {
  const {model} = session;
  /** @type {{current: any}} */
  const table = useRef(null);
  const drawn = useRowsOnPage(table, session.isMoving);
  const found = rowsThere(held, model);
  return html`<table class="tbl pods" ref=${table} style=${roomForRows(drawn, found.length)}>${children}<tbody>${found
    .slice(0, drawn)
    .map(([id, pod]) => {
      const health = podHealth(id, pod, model);
      return html`<${Unchanged} key=${id} draw=${Row} id=${id} session=${session} priority=${pod?.priority ?? 0} attempts=${pod?.attempts ?? 0} ...${health} />`;
    })}</tbody></table>`;
}

function Row({session, id, priority, attempts, state, mark, family, words, detail}) {
  const {namespace, name, key} = parseId(id);
  const said = brief({state, words});
  return html`
    <tr><th scope="row"><a class="name" href=${podHref(session, key)}><${Name} namespace=${namespace} name=${name} /></a></th>
      <td title=${said}><span class="state"><${Mark} name=${mark} family=${family} />${said}</span></td>
      <td class="right">${priority}</td><td class="right">${attempts}</td>
      <td class="soft" title=${detail}>${state !== "well" && detail !== words && detail}</td></tr>`;
}
