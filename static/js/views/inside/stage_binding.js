import {html} from "../../lib/html.js";
import {gettext, labelled, listText, ngettext} from "../../lib/words.js";
import {bindingMoments, spentIn} from "../../model/inside/cycle_binding.js";
import {pointOf} from "../../model/inside/cycle_words.js";
import {duration, parseId, timeText} from "../../model/shared/format.js";
import {Mark} from "../shared/mark.js";
import {Requeued} from "./stage_filter.js";
import {Note, Rule} from "./stage_parts.js";

/** The pod in the cache, before and after; then its volumes. */
export function AssumeStage({answer}) {
  const {assume, volumes, pod} = answer;
  const {before, after} = assume.assumed;
  const work = volumes?.assumed.at(-1);
  return html`
    <div class="twocaches">
      <div><div class="sechead"><h3>${gettext("1 The pod")}</h3><span class="note">${gettext("cache of pods and nodes")}</span></div>
        <div class="beforeafter">
          <div><small>${gettext("{node} before", {node: before.node})}</small><span class="num">${ngettext("{count} pod", "{count} pods", before.pods)}</span><span class="num">${gettext("generation {generation}", {generation: before.generation})}</span></div>
          <div class="after"><small>${gettext("after AssumePod")}</small><span class="num">${assumedWords(after.pods, parseId(`pod/${pod}`).name)}</span><span class="num">${gettext("generation {generation}", {generation: after.generation})}</span></div></div>
        <p class="small machine"><${State} mark="pending" family="held">${gettext("Initial")}<//> → <${State} mark="assumed" family="promised">${gettext("Assumed")}<//> <span class="mute">${gettext("→ Added, or → Expired, or → forgotten")}</span></p></div>
      <div><div class="sechead"><h3>${gettext("2 Its volumes")}</h3><span class="note">${"VolumeBinding.Reserve"}</span></div>
        ${work ? html`<${Volumes} work=${work} />` : html`<p class="small soft">${gettext("No plugin had a volume to reserve.")}</p>`}</div></div>
    ${work && work.caches.length > 0 && html`<${Caches} caches=${work.caches} />`}
    ${assume.forgotten && html`<${Note}>${gettext("The assumption was taken back later: the pod was forgotten.")}<//><${Requeued} answer=${answer} />`}`;
}

function assumedWords(pods, name) {
  return ngettext("{count} pod, {name} assumed", "{count} pods, {name} assumed", pods, {name});
}

function Volumes({work: {all_bound: isBound, bind, provision}}) {
  if (isBound) return html`<p class="small soft">${gettext("All its claims are bound already.")}</p>`;
  return html`
    <ul class="decisions small">${bind.map(({claim, volume}) => html`<li key=${claim} class="on"><span>${claim} → <b class="mono">${volume}</b></span><span class="mute">${gettext("assumed")}</span></li>`)}
      ${provision.map((claim) => html`<li key=${claim} class="on"><span>${claim} → <b>${gettext("to be provisioned for this node")}</b></span><span class="mute">${gettext("assumed")}</span></li>`)}</ul>`;
}

function Caches({caches}) {
  return html`
    <div class="sechead after"><h3>${gettext("Assume cache of volumes")}</h3><span class="note">${gettext("what the watch delivered, and what the scheduler works with instead")}</span></div>
    <div class="scroll-x" tabindex="0" role="region" aria-label=${gettext("Assume cache")}><table class="tbl caches"><thead><tr><th scope="col">${gettext("Object")}</th><th scope="col">${gettext("From the API server")}</th><th scope="col">${gettext("Latest, used by the next cycle")}</th><th scope="col">${gettext("State")}</th></tr></thead>
      <tbody>${caches.map(
        ({kind, name, assumed, latest_version: latest, informer_version: informer}) => html`
        <tr key=${`${kind}/${name}`} class=${assumed ? "changed" : ""}><th scope="row" class="mono">${name}<small>${kind === "claim" ? "PVC" : "PV"}</small></th><td class="mono">${versionOf(informer)}</td><td class="mono">${versionOf(latest)}</td>
          <td>${assumed ? html`<${State} mark="assumed" family="promised">${gettext("assumed")}<//>` : html`<span class="mute">${gettext("the same object")}</span>`}</td></tr>`,
      )}</tbody></table></div>
    <${Note}>${gettext("The assumed object keeps its version: a watch event with a higher one replaces it.")}<//>`;
}

function versionOf(version) {
  return version === null ? gettext("not there") : gettext("rv {version}", {version});
}

function State({mark, family, children}) {
  return html`<span class="state"><${Mark} name=${mark} family=${family} />${children}</span>`;
}

/** Who writes what, and who looks when. */
export function PreBindStage({answer, cycle}) {
  const {written = []} = answer.volumes ?? {};
  const moments = bindingMoments(answer, cycle.writes.value);
  const point = pointOf(answer, "PreBind");
  const deadline = written.findLast((each) => each.deadline !== null)?.deadline ?? null;
  return html`
    ${moments.length > 0 && html`<${Lanes} moments=${moments} />`}
    ${point && html`<ul class="small soft after">${point.answers.map(({plugin, code, reasons}) => html`<li key=${plugin}>${labelled(plugin, listText([code, ...reasons]))}</li>`)}</ul>`}
    ${
      deadline !== null &&
      html`<${Rule} facts=${[
        [gettext("looks"), answer.volumes.looks.length],
        [gettext("gives up at"), timeText(deadline)],
        [gettext("took"), spentWords(answer, "PreBind")],
      ]} />
      <${Note}>${gettext("PreBind looks once a second. If the volumes are not bound by then, what was assumed is undone and the pod goes back to the queue.")}<//>`
    }
    ${answer.bind === null && html`<${Requeued} answer=${answer} />`}`;
}

function spentWords(answer, name) {
  const part = spentIn(answer).find(({title}) => title === name);
  return part ? duration(part.ns) : gettext("not over");
}

const WIDE = 760;
const LEFT = 108;
const STEP = 60;
/** A shorter wait is not drawn. */
const WAIT_NS = 500_000_000;

/** A lane for each who acts, and what is done in the order of time. */
function Lanes({moments}) {
  const lanes = [...new Set(moments.map(({lane}) => lane))];
  const room = (WIDE - LEFT) / moments.length;
  const x = (place) => LEFT + place * room;
  const y = (lane) => 30 + lanes.indexOf(lane) * STEP;
  const words = listText(moments.map(({at, lane, text}) => labelled(`${timeText(at)} ${lane}`, text)));
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label=${gettext("Writes and looks")}><svg class="swim" data-picture=${gettext("Writes and looks")} viewBox=${`0 0 ${WIDE} ${lanes.length * STEP}`} role="img" aria-label=${words}>
      ${lanes.map((lane) => html`<g key=${lane}><text x="0" y=${y(lane) + 4} class="lname">${lane}</text><line x1=${LEFT - 8} x2=${WIDE} y1=${y(lane)} y2=${y(lane)} class="lane" /></g>`)}
      ${moments.map((each, place) => html`<${Wait} key=${place} moments=${moments} place=${place} x=${x} y=${y} room=${room} />`)}
      ${moments.map(
        ({lane, family, text, at}, place) => html`
        <g key=${place} class=${`act ${family}`}><title>${text}</title><rect x=${x(place)} y=${y(lane) - 16} width=${room - 8} height="32" rx="4" />
          <text x=${x(place) + 7} y=${y(lane) - 2}>${fitted(text, room)}</text><text x=${x(place) + 7} y=${y(lane) + 11} class="sub">${timeText(at)}</text></g>`,
      )}
    </svg></div>`;
}

/** A wait of the scheduler before what it does at `place`. */
function Wait({moments, place, x, y, room}) {
  const {lane, at} = moments[place];
  const before = moments.slice(0, place).findLastIndex((each) => each.lane === lane);
  if (lane !== "scheduler" || before < 0 || at - moments[before].at < WAIT_NS) return null;
  const from = x(before) + room - 8;
  return html`<g><rect x=${from} y=${y(lane) - 8} width=${x(place) - from} height="16" class="waitbar" />
    <text x=${from + 8} y=${y(lane) + 4} class="waittext">${fitted(gettext("waits {time}", {time: duration(at - moments[before].at)}), x(place) - from)}</text></g>`;
}

function fitted(text, room) {
  const letters = Math.floor((room - 24) / 6);
  return text.length > letters ? `${text.slice(0, letters - 1)}…` : text;
}

const ROUNDS = {
  queued: gettext("The pod enters the BindQueue"),
  "nothing to write": gettext("The pod has nothing to write"),
  ended: gettext("The round ends"),
};

/** v1.11: the rounds of a pod through the BindQueue. */
export function BindQueueStage({answer, cycle}) {
  const moments = bindingMoments(answer, cycle.writes.value);
  return html`
    ${moments.length > 0 && html`<${Lanes} moments=${moments} />`}
    ${
      answer.rounds.length > 0 &&
      html`<ol class="small after">${answer.rounds.map(({what, ahead, error}, place) => html`<li key=${place}>${roundWords(what, ahead, error)}</li>`)}</ol>
      <${Note}>${gettext("The attempt that starts the binding always ends as an error. The pod is not assumed meanwhile: another pod may take its room, and its next attempt is free to choose another node.")}<//>`
    }
    <${Requeued} answer=${answer} />`;
}

function roundWords(what, ahead, error) {
  const words =
    what === "queued" && ahead.length > 0
      ? gettext("The pod enters the BindQueue behind {pods}", {pods: listText(ahead)})
      : ROUNDS[what];
  return gettext("{words}.", {words: labelled(words, error)});
}

/** The write, and where the time went. */
export function BindStage({answer}) {
  const parts = spentIn(answer);
  const total = parts.reduce((sum, {ns}) => sum + ns, 0);
  const {finished} = answer.assume ?? {};
  return html`
    <${Rule} facts=${[
      ["POST …/binding", timeText(answer.phases.find(({name}) => name === "bind").at)],
      [gettext("answer"), answer.bind.code],
      ...(finished
        ? [
            [
              gettext("the assumption ends"),
              finished.deadline === null ? gettext("never") : timeText(finished.deadline),
            ],
          ]
        : []),
      [gettext("queued to bound"), duration(total)],
    ]} />
    ${
      total > 0 &&
      html`<div class="sechead"><h3>${gettext("Where {total} went", {total: duration(total)})}</h3></div>
      <div class="spent" role="img" aria-label=${listText(parts.map(({title, ns}) => `${title} ${duration(ns)}`))}>${parts.map(({title, family, ns}) => html`<span key=${title} class=${`f-${family}`} style=${`flex-grow:${Math.max(1, Math.round((ns / total) * 1000))}`} title=${listText([title, duration(ns)])}>${ns / total > 0.12 ? listText([title, duration(ns)]) : ""}</span>`)}</div>
      <p class="micro mute">${parts.map(({title, ns}) => `${title} ${duration(ns)}`).join(" · ")}</p>`
    }
    <p class="small machine"><${State} mark="pending" family="held">${gettext("Initial")}<//> → <${State} mark="assumed" family="promised">${gettext("Assumed")}<//> → <${State} mark="bound" family="settled">${gettext("Added")}<//> <span class="mute">${gettext("when the watch brings the pod back with its node")}</span></p>
    ${finished && html`<${Note}>${finished.deadline === null ? gettext("In {version} an assumption never expires.", {version: answer.version}) : gettext("FinishBinding starts the expiry of the assumed pod: it is forgotten at {deadline}, unless the watch has confirmed it.", {deadline: timeText(finished.deadline)})}<//>`}
    ${answer.bind.code !== "Success" && html`<${Requeued} answer=${answer} />`}`;
}
