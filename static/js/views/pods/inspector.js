import {html} from "../../lib/html.js";
import {gettext, listText, ngettext} from "../../lib/words.js";
import {healthOf} from "../../model/run/health_of.js";
import {podHealth, podStates} from "../../model/health/pod.js";
import {ownerOf} from "../../model/pods/pod.js";
import {figureOf} from "../../model/pods/verdict.js";
import {amount, duration, parseId, timeText} from "../../model/shared/format.js";
import {ManifestLink, ObjectLink, podHref} from "../shared/links.js";
import {Mark} from "../shared/mark.js";
import {Volumes} from "../volumes/volumes.js";
import {Held} from "../why/held.js";
import {Why} from "../why/why.js";
import {Blocker} from "./blocker.js";
import {EvidenceState} from "./evidence_state.js";
import {WhyHere, WhyNot} from "./placement.js";

/** The selected pod, the reason why it waits first. */
export function Inspector({session}) {
  const id = session.selected();
  if (!id) return html`<${Nothing} />`;
  const pod = session.model.entities.get(id);
  const {namespace, name} = parseId(id);
  const reading = session.evidence.of(id);
  const {evidence} = reading;
  return html`
    <aside class="inspector" id="inspector" aria-label=${gettext("Selected pod")}>
      <header>
        <h2><a class="own" title=${gettext("Open pod {namespace}/{name}", {namespace, name})} href=${podHref(session, `${namespace}/${name}`)}><span class="mute">${namespace}/</span>${name}</a>
          ${pod && html`<${ManifestLink} session=${session} id=${id} look="plain manifest" />`}</h2>
        <p class="small soft states">${podStates(id, pod, session.model).map(
          ([mark, family, text]) => html`
          <span class="state" key=${text}><${Mark} name=${mark} family=${family} />${text}</span>`,
        )}</p>
      </header>
      ${
        pod &&
        html`
        <${Blocker} session=${session} id=${id} pod=${pod} attempt=${evidence} />
        <${Held} session=${session} id=${id} />
        <${Why} session=${session} id=${id} />
        <section><dl class="kv"><${Facts} session=${session} id=${id} pod=${pod} evidence=${evidence} /></dl></section>
        <${EvidenceState} reading=${reading} retry=${() => session.evidence.retry()} />
        <${WhyNot} model=${session.model} pod=${pod} evidence=${evidence} />
        <${WhyHere} model=${session.model} pod=${pod} evidence=${evidence} />
        <${Volumes} session=${session} id=${id} pod=${pod} />`
      }
    </aside>`;
}

function Nothing() {
  return html`
    <aside class="inspector" id="inspector" aria-label=${gettext("Selected pod")}><header><h2>${gettext("No pod selected")}</h2>
      <p class="small soft">${gettext("Select a pod in the queue or on a node to see its state and what blocks it.")}</p></header></aside>`;
}

/** More facts about a pod: terms and values of a list. */
export function Facts({session, id, pod, evidence}) {
  const owner = ownerOf(id, pod, session.model.entities);
  return html`
    ${facts(pod, evidence, session.model.at).map(
      ([term, value, note]) => html`<${Fact} key=${term} term=${term} value=${value} note=${note} />`,
    )}
    ${owner && html`<${Fact} term=${gettext("Controlled by")} value=${html`<${ObjectLink} session=${session} id=${owner}>${parseId(owner).kind} ${parseId(owner).name}<//>`} note=${healthOf(owner, session.model).words} />`}`;
}

function Fact({term, value, note}) {
  return html`<dt>${term}</dt><dd>${value}${value && note ? " " : ""}${note && html`<span class="mute">${note}</span>`}</dd>`;
}

/** [term, value, muted note] in the order of the card. */
function facts(pod, evidence, at) {
  const found = [[gettext("Priority"), String(pod.priority ?? 0)], requests(pod)];
  if (pod.queue && pod.first_queued !== undefined) {
    found.push([gettext("Waited"), timeText(at - pod.first_queued), gettext("since it was first queued")]);
  }
  if (pod.queue === "backoff") {
    found.push([
      gettext("Backoff ends"),
      gettext("in {time}", {time: duration(pod.backoff_until - at)}),
      gettext("at {time}", {time: timeText(pod.backoff_until)}),
    ]);
  }
  if (pod.attempts)
    found.push([
      gettext("Attempts"),
      String(pod.attempts),
      evidence && gettext("last at {time}", {time: timeText(evidence.at)}),
    ]);
  if (pod.mover) found.push([gettext("Last queue event"), pod.mover, pod.flushed && gettext("flushed")]);
  if (pod.gates?.length) found.push([gettext("Gates"), listText(pod.gates)]);
  if (pod.scheduler) found.push([gettext("Scheduler"), pod.scheduler]);
  if (pod.created > 0 && pod.created <= at)
    found.push([gettext("Created"), gettext("at {time}", {time: timeText(pod.created)})]);
  else found.push([gettext("Created"), "", gettext("before the run")]);
  return found;
}

function requests(pod) {
  const parts = Object.entries(pod.requests ?? {})
    .filter(([, value]) => value > 0)
    .map(([resource, value]) => amount(resource, value));
  const volumes = (pod.claims ?? []).length;
  if (volumes > 0) parts.push(ngettext("{count} volume", "{count} volumes", volumes));
  return [gettext("Requests"), parts.join(" · "), parts.length === 0 && gettext("nothing")];
}

/** Below 900 px a bar at the bottom shows the selected pod. */
export function Peek({session}) {
  const id = session.selected();
  const pod = id ? session.model.entities.get(id) : null;
  if (!pod) return null;
  const {namespace, name} = parseId(id);
  const {mark, family, detail} = podHealth(id, pod, session.model);
  const figure = pod.blocker ? figureOf(pod.blocker) : null;
  return html`
    <a class=${`peek f-${family}`} href="#inspector"><${Mark} name=${mark} family=${family} />
      <span class="cut" title=${`${namespace}/${name} ${detail}`}><span class="mute">${namespace}/</span>${name} <span class="mute">${detail}</span></span>
      ${figure && html`<span class="num">${figure.value}</span>`}</a>`;
}
