import {html} from "../../lib/html.js";
import {gettext, labelled} from "../../lib/words.js";
import {BY, volumeOf, writeWords} from "../../model/film/claim_film.js";
import {podHealth} from "../../model/health/pod.js";
import {healthOf} from "../../model/run/health_of.js";
import {bytes, parseId, timeText} from "../../model/shared/format.js";
import {brief} from "../../model/health/pod.js";
import {FilmLink, PodLink} from "../shared/links.js";
import {Icon, Mark} from "../shared/mark.js";

/** A claim and its volume, the writes that join them, and who has seen which version. */
export function ClaimBoard({player}) {
  const film = player.film.value;
  const {line} = player.picture.value;
  const volume = volumeOf(film.answer);
  return html`
    <div class="fm-gridhead"><h2>${gettext("Claim and volume")}</h2><p class="fm-legend"><span><i class="ln dash"></i>${gettext("assumed, in memory")}</span><span><i class="ln half"></i>${gettext("one side written")}</span><span><i class="ln"></i>${gettext("both sides agree")}</span></p></div>
    <div class="fm-claim" data-picture=${gettext("Claim and volume")} tabindex="0" role="region" aria-label=${gettext("Claim and volume")}>
      <div class="fm-pair">
        <${Doc} player=${player} id=${film.answer.entity} kind="PersistentVolumeClaim" />
        <div class=${`fm-line ${line}`}><i></i><i></i><span>${LINES[line]}</span></div>
        ${volume ? html`<${Doc} player=${player} id=${`volume/${volume}`} kind="PersistentVolume" />` : html`<p class="fm-note">${gettext("No volume yet.")}</p>`}
      </div>
      <${Writes} player=${player} film=${film} />
      <${Versions} player=${player} film=${film} />
    </div>`;
}

const LINES = {
  none: gettext("nothing names the other"),
  assumed: gettext("assumed in memory"),
  half: gettext("one names the other"),
  whole: gettext("each names the other"),
};

function Doc({player, id, kind}) {
  const {model} = player;
  const {known, before} = player.picture.value;
  const [now, was] = [known[id], before[id]];
  const entity = model.entities.get(id);
  const health = entity ? healthOf(id, model) : null;
  const isClaim = kind === "PersistentVolumeClaim";
  const size = isClaim ? entity?.request : entity?.capacity;
  return html`
    <section class="fm-doc" aria-label=${parseId(id).name}><header><small>${kind}</small><b class="mono cut" title=${id}>${parseId(id).name}</b>${health && html`<span class="state"><${Mark} name=${health.mark} family=${health.family} />${brief(health)}</span>`}</header>
      <dl><${Field} name="resourceVersion" now=${now?.api_server} was=${was?.api_server} />
        ${entity?.class && html`<${Field} name="spec.storageClassName" now=${entity.class} was=${entity.class} />`}
        ${size !== undefined && html`<${Field} name=${isClaim ? "spec.resources" : "spec.capacity"} now=${bytes(size)} was=${bytes(size)} />`}
        <${Field} name=${isClaim ? "spec.volumeName" : "spec.claimRef"} now=${now?.names} was=${was?.names} over=${now?.over} />
        <${Field} name="status.phase" now=${now?.phase} was=${was?.phase} /></dl></section>`;
}

function Field({name, now = "", was = "", over = ""}) {
  const isChanged = was !== now && was !== "";
  const isNew = isChanged || (now !== "" && was === "" && name !== "resourceVersion" && name !== "status.phase");
  return html`<div class=${isNew ? "changed" : ""}><dt>${name}</dt><dd>${isChanged && html`<s>${was}</s> → `}${now ? html`<b>${now}</b>` : over ? html`<span class="tinted f-promised">${gettext("only in the assume cache")}</span>` : "–"}</dd></div>`;
}

function Writes({player, film}) {
  const {writes: made} = player.picture.value;
  const all = film.steps.filter(({write}) => write !== null);
  if (all.length === 0) return null;
  return html`
    <div class="sechead"><h2>${gettext("The writes")}</h2><span class="note">${gettext("who wrote what, and when")}</span></div>
    <ol class="fm-writes">${all.map((step, place) => {
      const {field, value} = writeWords(film, step);
      const {entity, version, error} = step.told.writes[step.write];
      const look = place < made - 1 ? "done" : place === made - 1 ? "done now" : "";
      return html`<li key=${step.id} class=${look}><span class="n">${look ? html`<${Icon} name=${error ? "no" : "ok"} />` : place + 1}</span><span><span class="mono">${parseId(entity).name}</span> ${field} ${value}<small>${labelled(BY[step.told.part], error)}</small></span><span class="num">${look ? [timeText(step.at), version && gettext("rv {version}", {version})].filter(Boolean).join(" · ") : gettext("not written")}</span></li>`;
    })}</ol>`;
}

const COLUMNS = [
  ["api_server", gettext("API server")],
  ["informer", gettext("informer")],
  ["cache", gettext("PV controller")],
  ["assumed", gettext("assume cache")],
];

function Versions({player}) {
  const known = Object.values(player.picture.value.known);
  if (known.length === 0) return null;
  return html`
    <div class="sechead"><h2>${gettext("Who sees which version")}</h2><span class="note">${gettext("after this step")}</span></div>
    <div class="scroll-x" tabindex="0" role="region" aria-label=${gettext("Versions")}><table class="tbl fm-vers"><thead><tr><th scope="col">${gettext("Object")}</th>${COLUMNS.map(([key, title]) => html`<th key=${key} scope="col">${title}</th>`)}</tr></thead>
      <tbody>${known.map(
        (each) =>
          html`<tr key=${each.entity}><th scope="row" class="mono">${parseId(each.entity).name}</th>${COLUMNS.map(([key]) => html`<td key=${key}>${each[key] ? gettext("rv {version}", {version: each[key]}) : "–"}${key === "assumed" && each.over ? html` <small>+ ${each.over}</small>` : ""}${each[key] && each[key] !== each.api_server ? html` <small>${gettext("older")}</small>` : ""}</td>`)}</tr>`,
      )}</tbody></table></div>`;
}

/** The pods that use the claim, with the films of their cycles. */
export function ClaimPods({player}) {
  const {session, model} = player;
  const {pods} = player.film.value.answer;
  return html`
    <aside class="fm-lanes" aria-label=${gettext("Queues and storage")}><section class="fm-side"><header><h2>${gettext("Pods that use it")}</h2></header>
      ${pods.length === 0 && html`<p class="fm-note">${gettext("None.")}</p>`}
      ${pods.map((key) => {
        const pod = model.entities.get(`pod/${key}`);
        const health = pod ? podHealth(`pod/${key}`, pod, model) : null;
        const words = health?.words ?? gettext("not there yet");
        return html`<div key=${key} class="fm-vol">${health ? html`<${Mark} name=${health.mark} family=${health.family} />` : html`<span></span>`}<span class="cut"><${PodLink} session=${session} podKey=${key} /></span><span class="mute cut" title=${words}>${words}</span><span class="val">${pod && html`<${FilmLink} session=${session} pod=${`pod/${key}`} />`}</span></div>`;
      })}</section></aside>`;
}
