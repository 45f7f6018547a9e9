import {html} from "../../lib/html.js";
import {gettext, labelled} from "../../lib/words.js";
import {podHealth} from "../../model/health/pod.js";
import {healthOf} from "../../model/run/health_of.js";
import {DRAWN} from "../../model/pods/lanes.js";
import {brief} from "../../model/health/pod.js";
import {count, duration, parseId} from "../../model/shared/format.js";
import {Mark, Name} from "../shared/mark.js";
import {Reasons} from "./reasons.js";

const LANES = {
  in_flight: [gettext("In flight"), "in-flight", "working"],
  active: [gettext("Active"), "active", "ready"],
  backoff: [gettext("Backoff"), "backoff", "clock"],
  unschedulable: [gettext("Unschedulable"), "unschedulable", "stuck"],
  gated: [gettext("Gated"), "gated", "held"],
};

/** The queues, how many nodes are left so far, and the storage or the victims of the pod. */
export function FilmLanes({player}) {
  const film = player.film.value;
  return html`
    <aside class="fm-lanes" aria-label=${gettext("Queues and storage")}>
      ${film.isLarge ? html`<${Reasons} player=${player} />` : html`<div class="fm-queue">${Object.keys(LANES).map((lane) => html`<${Lane} key=${lane} player=${player} lane=${lane} />`)}</div>`}
      <${SoFar} player=${player} />
      <${Storage} player=${player} />
      <${Victims} player=${player} />
    </aside>`;
}

function Lane({player, lane}) {
  const {lanes} = player.model;
  const [title, mark, family] = LANES[lane];
  const size = lanes.size(lane);
  const own = `pod/${player.film.value.answer.pod}`;
  return html`
    <section class="fm-lane"><header><${Mark} name=${mark} family=${family} /><h2>${title}</h2><span class="n">${count(size)}</span>
      ${lane === "in_flight" && size > 0 && html`<span class="cyc">${gettext("cycle {cycle}", {cycle: player.model.entities.get("queue")?.cycle ?? ""})}</span>`}</header>
      ${lanes.first(lane).map(([id, pod]) => html`<${Item} key=${id} id=${id} pod=${pod} isOwn=${id === own} />`)}
      ${size > DRAWN && html`<p class="micro mute fm-item">${gettext("and {size} more", {size: count(size - DRAWN)})}</p>`}
    </section>`;
}

function Item({id, pod, isOwn}) {
  const {namespace, name} = parseId(id);
  return html`<div class=${`fm-item${isOwn ? " mine" : ""}`} title=${`${namespace}/${name}`}><span class=${isOwn ? "token" : "named"} data-flip=${isOwn ? "" : undefined}><${Name} namespace=${namespace} name=${name} /></span>
    ${pod.nominated && html`<span class="nom"><${Mark} name="nominated" family="promised" />${pod.nominated}</span>`}
    <span class="val num">${count(pod.priority ?? 0)}</span></div>`;
}

const PLACED = [
  ["snapshot", gettext("in the snapshot")],
  ["asked", gettext("asked by Filter")],
  ["fit", gettext("fit")],
  ["scored", gettext("scored")],
  ["tied", gettext("with the best total")],
  ["chosen", gettext("chosen")],
];
const PREEMPTING = [
  ["snapshot", gettext("in the snapshot")],
  ["asked", gettext("asked by Filter")],
  ["fit", gettext("fit")],
  ["help", gettext("evictions may help")],
  ["tried", gettext("dry runs")],
  ["left", gettext("left on the ladder")],
  ["nominated", gettext("nominated")],
];

/** What is left of the nodes, from the snapshot to the one that is chosen. */
function SoFar({player}) {
  const {answer} = player.film.value;
  const {far} = player.picture.value;
  const total = Math.max(1, answer.order?.searched.order.length ?? 1);
  const rows = answer.post_filter ? PREEMPTING : PLACED;
  return html`
    <section class="fm-far"><header><h2>${gettext("Nodes so far")}</h2></header><dl>${rows.map(([key, label]) => {
      const value = far[key];
      const part = typeof value === "number" ? value / total : value ? 1 / total : 0;
      return html`<div key=${key} class=${value === undefined ? "ahead" : ""}><dt>${label}</dt><dd><span class="br"><i style=${`width:${(Math.min(1, part) * 100).toFixed(1)}%`}></i></span><b class=${typeof value === "number" ? "num" : "mono cut"} title=${value}>${typeof value === "number" ? count(value) : (value ?? "")}</b></dd></div>`;
    })}</dl></section>`;
}

/** The claims of the pod and the volumes that may serve them. */
function Storage({player}) {
  const {model} = player;
  const {answer} = player.film.value;
  const own = `pod/${answer.pod}`;
  const {namespace} = parseId(own);
  const claims = (model.entities.get(own)?.claims ?? []).map((name) => `claim/${namespace}/${name}`);
  const {assumed} = player.picture.value;
  const bound = claims.map((id) => model.entities.get(id)?.volume).filter(Boolean);
  const named = [...new Set([...assumed.map(({volume}) => volume), ...bound])].map((name) => `volume/${name}`);
  const known = [...claims, ...named].filter((id) => model.entities.has(id));
  if (known.length === 0) return null;
  return html`
    <section class="fm-side"><header><h2>${gettext("Storage of this pod")}</h2></header>
      ${known.map((id) => html`<${Stored} key=${id} model=${model} id=${id} isAssumed=${assumed.some(({volume}) => id === `volume/${volume}`)} />`)}
    </section>`;
}

function Stored({model, id, isAssumed}) {
  const {name} = parseId(id);
  const health = healthOf(id, model);
  const {volume, claim} = model.entities.get(id);
  const isFree = isAssumed && !claim;
  const words = isFree ? gettext("assumed") : brief(health);
  return html`<div class="fm-vol" title=${labelled(id, words)}><${Mark} name=${isFree ? "half" : health.mark} family=${isFree ? "promised" : health.family} /><span class="mono cut" title=${name}>${name}</span><span class="mute cut" title=${volume ?? ""}>${volume ?? ""}</span><span class="val">${words}</span></div>`;
}

/** Who has to go, and how much of the grace period is left. */
function Victims({player}) {
  const {victims} = player.picture.value;
  const {answer} = player.film.value;
  if (!answer.post_filter) return null;
  return html`
    <section class="fm-side"><header><h2>${gettext("Victims")}</h2><span class="n">${victims.length}</span></header>
      ${victims.length === 0 ? html`<p class="fm-note">${gettext("None is chosen yet.")}</p>` : victims.map((id) => html`<${Victim} key=${id} model=${player.model} id=${id} />`)}
    </section>`;
}

function Victim({model, id}) {
  const {namespace, name} = parseId(id);
  const pod = model.entities.get(id);
  const health = pod ? podHealth(id, pod, model) : null;
  const words = !pod
    ? gettext("gone")
    : pod.deleting === undefined
      ? gettext("chosen")
      : gettext("{time} left", {time: duration(Math.max(0, pod.deleting - model.at))});
  return html`<div class="fm-vol" title=${health?.detail}><${Mark} name=${pod ? "victim" : "expired"} family=${pod ? "stuck" : "held"} /><span class="cut"><${Name} namespace=${namespace} name=${name} /></span><span class="mute cut" title=${pod?.node}>${pod?.node ?? ""}</span><span class="val num">${words}</span></div>`;
}
