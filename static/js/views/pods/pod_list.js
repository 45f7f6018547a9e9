import {html} from "../../lib/html.js";
import {gettext} from "../../lib/words.js";
import {brief, podHealth} from "../../model/health/pod.js";
import {PLACES, listPods} from "../../model/pods/pod.js";
import {count, parseId} from "../../model/shared/format.js";
import {Reading, RunPage, isWaiting} from "../run/run_page.js";
import {podHref} from "../shared/links.js";
import {Mark, Name} from "../shared/mark.js";
import {Pager, pageOf} from "../shared/pager.js";

const ROWS = 200;

/** The pods of a run at the event shown, waiting pods first. */
export function PodListPage({session, filters}) {
  return html`<${RunPage} session=${session}><${Body} session=${session} filters=${filters} /><//>`;
}

function Body({session, filters}) {
  if (isWaiting(session)) {
    return html`<main class="page"><h1>${gettext("Pods")}</h1><${Reading} session=${session} /></main>`;
  }
  const {name: text, state, page: asked} = filters.values.value;
  const place = PLACES.some(([key]) => key === state) ? state : "";
  const {pods, counts, found, page, pages} = listPods(session.model, {text, place, page: pageOf(asked)}, ROWS);
  return html`
    <main class="page"><div class="pagehead"><h1>${gettext("Pods")}</h1><span class="micro mute" role="status">${gettext("{found} found", {found: count(found)})}</span></div>
      <div class="formgrid filters"><label class="input">${gettext("Name")}<input value=${text} placeholder="shop/web" onInput=${(event) => filters.set({name: event.target.value, page: ""})} /></label>
        <label class="input">${gettext("State")}<select value=${place} onChange=${(event) => filters.set({state: event.target.value, page: ""})}>
          <option value="">${gettext("all")}</option>${PLACES.map(([key, words]) => html`<option key=${key} value=${key} selected=${key === place}>${words} (${count(counts.get(key))})</option>`)}</select></label></div>
      <table class="tbl pods"><colgroup><col style="width:26%" /><col style="width:24%" /><col style="width:72px" /><col style="width:80px" /><col /></colgroup>
        <thead><tr><th>${gettext("Pod")}</th><th>${gettext("State")}</th><th class="right">${gettext("Priority")}</th><th class="right">${gettext("Attempts")}</th><th>${gettext("Blocked by")}</th></tr></thead>
        <tbody>${pods.map(([id, pod]) => html`<${Row} key=${id} id=${id} pod=${pod} health=${podHealth(id, pod, session.model)} href=${podHref(session, parseId(id).key)} />`)}</tbody></table>
      ${pages > 1 && html`<${Pager} shown=${{page, pages}} go=${(next) => filters.set({page: next === 0 ? "" : String(next + 1)})} />`}
      ${found === 0 && html`<p class="empty">${gettext("No pod matches.")}</p>`}
    </main>`;
}

function Row({id, pod, health, href}) {
  const {namespace, name} = parseId(id);
  const {state, mark, family, words, detail} = health;
  return html`
    <tr><th scope="row"><a class="name" href=${href}><${Name} namespace=${namespace} name=${name} /></a></th>
      <td title=${brief(health)}><span class="state"><${Mark} name=${mark} family=${family} />${brief(health)}</span></td>
      <td class="right">${pod.priority ?? 0}</td><td class="right">${pod.attempts ?? 0}</td>
      <td class="soft" title=${detail}>${state !== "well" && detail !== words && detail}</td></tr>`;
}
