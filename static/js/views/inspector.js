import {html} from "../lib/html.js";
import {answerFor} from "../model/diagnosis.js";
import {amount, duration, moment, parseId} from "../model/format.js";
import {figureOf} from "../model/verdict.js";
import {Mark} from "./mark.js";
import {WhyHere, WhyNot} from "./placement.js";
import {Volumes} from "./volumes.js";
import {WhatWouldFix} from "./why.js";

/** What there is to say about the selected pod, the answer first. */
export function Inspector({board}) {
  const id = board.selected();
  if (!id) return html`<${Nothing} />`;
  const {entities, nodes, seq} = board.model;
  const pod = entities.get(id);
  const {namespace, name} = parseId(id);
  const held = board.evidence.value;
  const evidence = held?.id === id ? held.evidence : null;
  return html`
    <aside class="inspector" id="inspector" aria-label="Selected pod">
      <header>
        <h2><span class="cut" title=${`${namespace}/${name}`}><span class="mute">${namespace}/</span>${name}</span>
          ${pod && html`<a class="btn plain manifest" href=${board.api.url(`objects/${id}/`, {seq: board.past.value ? seq : null, format: "yaml"})}>Manifest</a>`}</h2>
        <p class="small soft states">${states(pod).map(([mark, family, text]) => html`
          <span class="state" key=${text}><${Mark} name=${mark} family=${family} />${text}</span>`)}</p>
      </header>
      ${pod && html`
        <${Blocker} board=${board} id=${id} pod=${pod} />
        <${WhatWouldFix} board=${board} id=${id} pod=${pod} />
        <section><dl class="kv"><${Facts} board=${board} pod=${pod} evidence=${evidence} /></dl></section>
        <${WhyNot} nodes=${nodes} pod=${pod} evidence=${evidence} />
        <${WhyHere} nodes=${nodes} pod=${pod} evidence=${evidence} />
        <${Volumes} board=${board} id=${id} pod=${pod} />`}
    </aside>`;
}

function Nothing() {
  return html`
    <aside class="inspector" id="inspector" aria-label="Selected pod"><header><h2>No pod selected</h2>
      <p class="small soft">Pick a pod in a lane or on a node to see where it stands and what holds it.</p></header></aside>`;
}

const QUEUE_LOOK = {
  in_flight: ["in-flight", "working", "in flight"],
  active: ["active", "ready", "active"],
  backoff: ["backoff", "clock", "in backoff"],
  unschedulable: ["unschedulable", "stuck", "unschedulable"],
  gated: ["gated", "held", "gated"],
};

/** Everything a pod is at once, as [mark, family, words]. */
function states(pod) {
  if (!pod) return [["expired", "held", "not there at this moment"]];
  const found = [];
  if (pod.queue) found.push(QUEUE_LOOK[pod.queue]);
  if (pod.node) found.push(["bound", "settled", `bound to ${pod.node}`]);
  else if (pod.assumed) found.push(["assumed", "promised", `assumed on ${pod.assumed}`]);
  if (pod.nominated && !pod.node) found.push(["nominated", "promised", `nominated to ${pod.nominated}`]);
  if (pod.deleting !== undefined) found.push(["victim", "stuck", "terminating"]);
  if (pod.node && pod.phase) found.push(["run", "held", pod.phase]);
  return found;
}

/** The answer: one sentence, one number, the smallest fixes. */
function Blocker({board, id, pod}) {
  const {blocker} = pod;
  if (!blocker) return null;
  const figure = figureOf(blocker);
  // Once changes were really tried, they take the place of these.
  const answer = answerFor(board.why.held.value, id, board.place);
  const fixes = answer?.status === "ready" ? [] : blocker.fixes ?? [];
  return html`
    <section class=${`blocker f-${blockerFamily(pod)}`}>
      <p class="say">${blocker.sentence}</p>
      ${figure && html`<p class="figure num">${figure.value}<small> ${figure.words}</small></p>`}
      ${fixes.length > 0 && html`<div class="fixes">${fixes.map((fix, i) => html`
        <div class="fix" key=${fix.text}><span><${Amounts} text=${fix.text} /></span>
          <${FixButton} board=${board} id=${id} fix=${fix} first=${i === 0} /></div>`)}</div>`}
    </section>`;
}

function blockerFamily(pod) {
  if (pod.nominated) return "promised";
  return pod.queue === "gated" ? "held" : "stuck";
}

/** A fix that is a change of an object can be sent to the engine, at the newest event only. */
function FixButton({board, id, fix, first}) {
  if (!fix.patch || board.past.value) return null;
  return html`<button class=${`btn${first ? " primary" : ""}`} aria-label=${`Apply: ${fix.text}`}
    onClick=${() => board.applyFix(fix.object ?? id, fix.patch)}>Apply</button>`;
}

const AMOUNT = /((?<![\w.-])\d+(?:\.\d+)?(?:m| ?[KMGT]i)?\b(?![.-]\w))/;

/** A sentence whose amounts stand out. */
function Amounts({text}) {
  return text.split(AMOUNT).map((part, i) => (i % 2 === 1 ? html`<b class="strong">${part}</b>` : part));
}

function Facts({board, pod, evidence}) {
  return facts(pod, evidence, board.model.at)
    .map(([term, value, note]) => html`<${Fact} key=${term} term=${term} value=${value} note=${note} />`);
}

function Fact({term, value, note}) {
  return html`<dt>${term}</dt><dd>${value}${value && note ? " " : ""}${note && html`<span class="mute">${note}</span>`}</dd>`;
}

/** [term, value, muted note] in the order of the card. */
function facts(pod, evidence, at) {
  const found = [["Priority", String(pod.priority ?? 0)], requests(pod)];
  if (pod.queue && pod.first_queued !== undefined) {
    found.push(["Waited", `${moment(at - pod.first_queued)} s`, "since it was first queued"]);
  }
  if (pod.queue === "backoff") {
    found.push(["Backoff ends", `in ${duration(pod.backoff_until - at)}`, `at ${moment(pod.backoff_until)} s`]);
  }
  if (pod.attempts) found.push(["Attempts", String(pod.attempts), evidence && `last at ${moment(evidence.at)} s`]);
  if (pod.mover) found.push(["Last mover", pod.mover, pod.flushed && "flushed"]);
  if (pod.gates?.length) found.push(["Gates", pod.gates.join(", ")]);
  if (pod.scheduler) found.push(["Scheduler", pod.scheduler]);
  if (pod.created > 0 && pod.created <= at) found.push(["Created", `at ${moment(pod.created)} s`]);
  else found.push(["Created", "", "before the run"]);
  return found;
}

function requests(pod) {
  const parts = Object.entries(pod.requests ?? {})
    .filter(([, value]) => value > 0)
    .map(([resource, value]) => amount(resource, value));
  const volumes = (pod.claims ?? []).length;
  if (volumes > 0) parts.push(`${volumes} ${volumes === 1 ? "volume" : "volumes"}`);
  return ["Requests", parts.join(" · "), parts.length === 0 && "nothing"];
}

/** Below 900 px the selected pod stays in sight in a bar at the bottom. */
export function Peek({board}) {
  const id = board.selected();
  const pod = id ? board.model.entities.get(id) : null;
  if (!pod) return null;
  const {namespace, name} = parseId(id);
  const [mark, family, text] = states(pod).at(-1) ?? ["expired", "held", "not queued"];
  const figure = pod.blocker ? figureOf(pod.blocker) : null;
  return html`
    <a class=${`peek f-${pod.blocker ? blockerFamily(pod) : family}`} href="#inspector"><${Mark} name=${mark} family=${family} />
      <span class="cut"><span class="mute">${namespace}/</span>${name} <span class="mute">${pod.blocker?.short ?? text}</span></span>
      ${figure && html`<span class="num">${figure.value}</span>`}</a>`;
}
