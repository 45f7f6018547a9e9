import {useRef} from "preact/hooks";

import {html} from "../../lib/html.js";
import {gettext, labelled, listText, ngettext, sentences} from "../../lib/words.js";
import {healthOf} from "../../model/run/health_of.js";
import {brief, podHealth} from "../../model/health/pod.js";
import {DRAWN, backoffLeft} from "../../model/pods/lanes.js";
import {eventText} from "../../model/shared/event_words.js";
import {count, duration, parseId} from "../../model/shared/format.js";
import {holdWords} from "../../model/shared/terminating.js";
import {useRowsInSight} from "../shared/in_sight.js";
import {FilmLink, volumesHref} from "../shared/links.js";
import {Mark, Name} from "../shared/mark.js";

/** The height of a row in pixels, at least. */
const ROW = 24;
const RING = 2 * Math.PI * 5;

const LOOK = {
  in_flight: {title: gettext("In flight"), mark: "in-flight", family: "working"},
  active: {
    title: gettext("Active"),
    mark: "active",
    family: "ready",
    key: [gettext("last queue event"), gettext("priority")].join(" · "),
  },
  backoff: {
    title: gettext("Backoff"),
    mark: "backoff",
    family: "clock",
    key: [gettext("time left"), gettext("attempt")].join(" · "),
  },
  unschedulable: {
    title: gettext("Unschedulable"),
    mark: "unschedulable",
    family: "stuck",
    key: gettext("since last attempt"),
  },
  gated: {title: gettext("Gated"), mark: "gated", family: "held", key: gettext("gate")},
  unqueued: {title: gettext("Not queued"), mark: "expired", family: "held", key: gettext("scheduler")},
};

/** The scheduling queue, one lane for each place of a pod without a node, and the claims. */
export function LaneList({session}) {
  /** @type {{current: any}} */
  const queue = useRef(null);
  const inSight = Math.min(DRAWN, useRowsInSight(queue, ROW));
  return html`
    <aside class="lanes" data-picture=${gettext("Queue and claims")} aria-label=${gettext("Scheduling queue and claims")}><h2 class="vh">${gettext("Scheduling queue and claims")}</h2>
      <div class="queue" ref=${queue}>${Object.keys(LOOK).map((lane) => html`<${Lane} key=${lane} session=${session} lane=${lane} most=${inSight} />`)}</div>
      <${ClaimLane} session=${session} />
    </aside>`;
}

function Lane({session, lane, most}) {
  const {title, mark, family, key} = LOOK[lane];
  const {lanes, entities} = session.model;
  const size = lanes.size(lane);
  if (lane === "unqueued" && size === 0) return null;
  const selected = session.selected();
  const cycle = entities.get("queue")?.cycle;
  const flying = lane === "in_flight" ? lanes.first(lane)[0]?.[0] : undefined;
  const note = lane === "in_flight" ? (cycle === undefined ? "" : gettext("cycle {cycle}", {cycle})) : key;
  return html`
    <section class=${size === 0 ? "lane none" : "lane"} aria-label=${listText([title, ngettext("{count} pod", "{count} pods", size)])}>
      <header><${Mark} name=${mark} family=${family} /><h3>${title}</h3><span class="n">${count(size)}</span>
        <span class="key">${flying ? html`<a href=${session.href("inside-scheduler", {pod: flying})} title=${gettext("Inside of this cycle")}>${note}</a> <${FilmLink} session=${session} cycle=${cycle} pod=${flying} />` : size > 0 || lane === "in_flight" ? note : ""}</span></header>
      ${
        size > 0 &&
        html`<ol style=${`padding-bottom:${Math.max(0, Math.min(DRAWN, size) - most) * ROW}px`}>${lanes
          .first(lane, most)
          .map(
            ([id, pod], i) => html`<li key=${size > DRAWN ? i : id}>
        <${Item} session=${session} lane=${lane} id=${id} pod=${pod} order=${i + 1} selected=${id === selected} /></li>`,
          )}</ol>`
      }
      ${size > DRAWN && html`<p class="more micro mute">${gettext("and {size} more", {size: count(size - DRAWN)})}</p>`}
    </section>`;
}

function Item({session, lane, id, pod, order, selected}) {
  const {namespace, name} = parseId(id);
  const Value = VALUES[lane];
  const why = whyLine(session, lane, id, pod);
  return html`
    <button class="item" data-pod=${id} aria-pressed=${String(selected)} onClick=${() => session.pick(id)}>
      <${Lead} lane=${lane} pod=${pod} order=${order} at=${session.model.at} />
      <${Name} namespace=${namespace} name=${name} />
      <span class="val" title=${valueTitle(lane, pod)}><${Value} pod=${pod} at=${session.model.at} /></span>
      ${why && html`<span class="why cut" title=${why}>${why}</span>`}
    </button>`;
}

function Lead({lane, pod, order, at}) {
  if (lane === "backoff") {
    const dash = `${(backoffLeft(pod, at) * RING).toFixed(2)} ${RING.toFixed(2)}`;
    return html`<svg class="ring" viewBox="0 0 14 14" aria-hidden="true"><circle cx="7" cy="7" r="5" /><circle cx="7" cy="7" r="5" stroke-dasharray=${dash} /></svg>`;
  }
  if (pod.nominated) return html`<${Mark} name="nominated" family="promised" />`;
  return html`<span class="ord">${lane === "active" ? order : ""}</span>`;
}

/** What may be too long for the end of a row. */
function valueTitle(lane, pod) {
  if (lane === "active")
    return pod.mover
      ? gettext("{mover}, priority {priority}", {mover: pod.mover, priority: pod.priority ?? 0})
      : undefined;
  return {gated: listText(pod.gates ?? []), unqueued: pod.scheduler}[lane];
}

const VALUES = {
  in_flight: ({pod, at}) => duration(at - (pod.queue_since ?? at)),
  active: ({pod}) =>
    html`<span class=${`mover${pod.flushed ? " flush" : ""}`}>${pod.mover ?? ""}</span>${pod.priority ?? 0}`,
  backoff: ({pod, at}) =>
    html`${duration((pod.backoff_until ?? at) - at)} <span class="mute">· ${pod.attempts ?? 0}</span>`,
  unschedulable: ({pod, at}) => duration(at - (pod.queue_since ?? at)),
  gated: ({pod}) => html`<span class="micro mute">${listText(pod.gates ?? [])}</span>`,
  unqueued: ({pod}) => html`<span class="micro mute">${pod.scheduler ?? ""}</span>`,
};

function whyLine(session, lane, id, pod) {
  if (pod.nominated || lane === "unschedulable" || lane === "unqueued") return podHealth(id, pod, session.model).detail;
  if (lane !== "in_flight") return "";
  const newest = session.model.run.events.find((event) => event.object === id);
  return newest ? `${newest.kind} · ${eventText(newest)}` : "";
}

/** The height of a claim in pixels, at least. */
const CLAIM_ROW = 40;

function ClaimLane({session}) {
  return session.model.claims.size === 0 ? null : html`<${SomeClaims} session=${session} />`;
}

function SomeClaims({session}) {
  const {claims} = session.model;
  /** @type {{current: any}} */
  const lane = useRef(null);
  const shown = Math.min(DRAWN, claims.size);
  const most = Math.min(shown, useRowsInSight(lane, CLAIM_ROW));
  return html`
    <section class="lane claims" ref=${lane} aria-label=${gettext("Claims, {size}", {size: claims.size})}>
      <header><${Mark} name="pending" family="clock" /><h3><a href=${volumesHref(session)}>${gettext("Claims")}</a></h3><span class="n">${count(claims.size)}</span>
        <span class="key">${gettext("provision · bind · use")}</span></header>
      <ol style=${`padding-bottom:${(shown - most) * CLAIM_ROW}px`}>${claims.first(session.model, most).map((id) => html`<li key=${id}><${ClaimItem} session=${session} id=${id} /></li>`)}</ol>
      ${claims.size > DRAWN && html`<p class="more micro mute">${gettext("and {size} more", {size: count(claims.size - DRAWN)})}</p>`}
    </section>`;
}

function spoken(claim, state, more) {
  return sentences([gettext("Claim {claim}, {state}.", {claim, state}), listText(more)]);
}

function ClaimItem({session, id}) {
  const {claims, entities} = session.model;
  const claim = entities.get(id);
  const health = healthOf(id, session.model);
  const {state, mark, family, words} = health;
  const steps = claims.steps(id, claim, session.model);
  const held = holdWords(id, session.model) || (state === "failing" ? words : "");
  const now = steps.find(({status}) => status === "now") ?? steps.findLast(({status}) => status === "done");
  const {namespace, name} = parseId(id);
  return html`
    <a class="item claim" data-entity=${id} href=${volumesHref(session, `${namespace}/${name}`)}
      aria-label=${spoken(`${namespace}/${name}`, held || now.what, [brief(health), ...(held ? [] : [now.name])])} title=${held || undefined}>
      <${Mark} name=${mark} family=${family} />
      <${Name} namespace=${namespace} name=${name} />
      <span class="val progress">${steps.map(
        (step) => html`<span key=${step.name} class=${step.status} title=${labelled(step.name, step.what)}>
        <${Mark} name=${step.mark} family=${step.family} /></span>`,
      )}</span>${" "}
      <span class="why cut" title=${held || now.what}>${held || now.what}</span>
    </a>`;
}
