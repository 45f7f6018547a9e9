import {html} from "../../lib/html.js";
import {clauses, gettext, listText} from "../../lib/words.js";
import {placeOf} from "../../model/nodes/nodes.js";
import {podStates} from "../../model/health/pod.js";
import {ageWords} from "../../model/pods/blocker.js";
import {sinceWords} from "../../model/pods/evidence.js";
import {parseId, timeText} from "../../model/shared/format.js";
import {ChangeMenu} from "../run/change_menu.js";
import {Failures} from "../run/failures.js";
import {Reading, RunPage, isWaiting} from "../run/run_page.js";
import {EventTable} from "../shared/events.js";
import {CycleLink, FilmLink, InsideLink, ManifestLink, NodeLink} from "../shared/links.js";
import {Mark} from "../shared/mark.js";
import {Still} from "../shared/still.js";
import {Held} from "../why/held.js";
import {Volumes} from "../volumes/volumes.js";
import {Trial} from "../why/trial.js";
import {Why} from "../why/why.js";
import {Blocker} from "./blocker.js";
import {EvidenceState} from "./evidence_state.js";
import {Facts} from "./inspector.js";
import {Life} from "./life.js";
import {Matrix} from "./matrix.js";
import {PodDevices} from "./pod_devices.js";
import {Preemption} from "./preemption.js";
import {Scores} from "./scores.js";

/** One pod at the event shown, the reason why it waits first. */
export function PodPage({session, id, record}) {
  return html`<${RunPage} session=${session}><${Body} session=${session} id=${id} record=${record} /><//>`;
}

function Body({session, id, record}) {
  if (isWaiting(session)) {
    return html`<main class="page"><h1 class="vh">${id}</h1><${Reading} session=${session} /></main>`;
  }
  const pod = session.model.entities.get(id);
  return html`
    <main class="page podpage">
      <${Head} session=${session} id=${id} pod=${pod} />
      <div class="top">
        <${Answer} session=${session} id=${id} pod=${pod} record=${record} newest=${record.attempts.value[0]} />
        <${Life} session=${session} id=${id} record=${record} />
      </div>
      <${Details} session=${session} id=${id} pod=${pod} record=${record} />
    </main>`;
}

/** The parts that depend on loaded data. They come at once, so that nothing moves away from under the pointer. */
function Details({session, id, pod, record}) {
  if (!record.isOpen.value)
    return html`<p class="small soft evidencestate" role="status">${gettext("Reading its attempts and events…")}</p>`;
  const held = record.held.value;
  return html`
    <${EvidenceState} reading=${record.reading.value} retry=${() => record.retry()} />
    ${
      record.attempts.value.length > 0 &&
      html`
      <div class="sec verdicts"><${Attempts} session=${session} record=${record} address=${session.address} />
        ${held && html`<div class="filtered"><${Stale} session=${session} attempt=${held.attempt} /><${Still} of=${held.evidence}><${Matrix} evidence=${held.evidence} zoneOf=${zoneIn(session)} pod=${parseId(id).name} binding=${bindingOf(session, id, pod, held.attempt)} /><//></div>`}</div>`
    }
    ${
      held &&
      html`<${Stale} session=${session} attempt=${held.attempt} /><${Still} of=${held.evidence}><div class="sec two">
      <${Scores} evidence=${held.evidence} /><${Preemption} evidence=${held.evidence} /></div><//>`
    }
    <${OwnPlugins} held=${held} />
    ${pod?.claims?.length > 0 && html`<div class="sec volumes"><${Volumes} session=${session} id=${id} pod=${pod} /></div>`}
    ${pod?.resource_claims?.length > 0 && html`<${PodDevices} session=${session} id=${id} pod=${pod} evidence=${held?.evidence} />`}
    <${Events} session=${session} id=${id} record=${record} />`;
}

/** What the matrix needs for the volumes of the pod's claims: see Matrix. */
function bindingOf(session, id, pod, attempt) {
  const {namespace} = parseId(id);
  return {
    claims: (pod?.claims ?? []).map((name) => `${namespace}/${name}`),
    // The event of an attempt already has what it decided.
    read: (claim, node) => session.api.get(`claims/${claim}/candidates/`, {node, seq: Math.max(0, attempt.seq - 1)}),
  };
}

/** When the verdicts below were found, if anything has happened since. */
function Stale({session, attempt}) {
  if (!sinceWords(attempt, session.model)) return null;
  return html`<p class="small stalenote"><${Mark} name="backoff" family="clock" />${ageWords(attempt, session.model)}</p>`;
}

function Head({session, id, pod}) {
  const {namespace, name} = parseId(id);
  return html`
    <div class="pagehead"><h1><span class="ns">${namespace}/</span>${name}</h1>
      <p class="small soft states">${podStates(id, pod, session.model).map(
        ([mark, family, text]) => html`
        <span class="state" key=${text}><${Mark} name=${mark} family=${family} /><${Stated} session=${session} pod=${pod} text=${text} /></span>`,
      )}</p>
      <div class="end"><a class="btn" href=${session.href("board", {pod: id})}>${gettext("On the board")}</a>
        <a class="btn" href=${session.href("machines", {pod: id})}>${gettext("State machines")}</a>
        <${InsideLink} session=${session} id=${id} />
        ${pod && html`<${Failures} session=${session} id=${id} /><${ChangeMenu} session=${session} id=${id} /><${ManifestLink} session=${session} id=${id} />`}</div></div>`;
}

/** A state of a pod; a node in it links to its page. */
function Stated({session, pod, text}) {
  const place = pod && placeOf(pod);
  const at = place ? text.lastIndexOf(place) : -1;
  if (at < 0) return text;
  return html`${text.slice(0, at)}<${NodeLink} session=${session} name=${place} />${text.slice(at + place.length)}`;
}

/** What blocks the pod, what would help, and the facts about the pod. */
function Answer({session, id, pod, record, newest}) {
  if (!pod)
    return html`<div class="answer"><p class="small soft">${gettext("This pod is not in the cluster at {at}.", {at: timeText(session.model.at)})}</p>
      <${Why} session=${session} id=${id} level="h2" /></div>`;
  return html`
    <div class="answer">
      <${Trial} session=${session} id=${id} events=${record.events.value} />
      <${Blocker} session=${session} id=${id} pod=${pod} attempt=${newest} />
      <${Held} session=${session} id=${id} />
      <${Why} session=${session} id=${id} level="h2" />
      <dl class="kv"><${Facts} session=${session} id=${id} pod=${pod} evidence=${newest} /></dl>
    </div>`;
}

const RESULT_LOOK = {
  scheduled: ["vbound", "settled"],
  unschedulable: ["unschedulable", "stuck"],
  error: ["failed", "stuck"],
};

function Attempts({session, record, address}) {
  const attempts = record.attempts.value;
  const shown = record.held.value?.attempt.id ?? attempts[0]?.id;
  const messages = new Map(record.events.value.map(({seq, message}) => [seq, message]));
  const pick = (number) => {
    const chosen = number === attempts[0]?.number ? null : number;
    record.choose(chosen);
    address.write({attempt: chosen});
  };
  return html`
    <section class="attempts" aria-label=${gettext("Attempts")}><h2>${gettext("Attempts")}</h2>
      <ol>${attempts.map(({id, number, at, seq, result, node, pod, cycle}) => {
        const [mark, family] = RESULT_LOOK[result] ?? ["failed", "stuck"];
        return html`
          <li key=${id}><button aria-pressed=${String(id === shown)} onClick=${() => pick(number)}>
            <span class="row1"><${Mark} name=${mark} family=${family} />${number}<span class="num">${timeText(at)}</span></span>
            <span class="row2">${outcome(result, node, messages.get(seq))}</span></button>
            ${cycle > 0 && html`<p class="micro inside-link"><${CycleLink} session=${session} cycle=${cycle} pod=${`pod/${pod}`}>${gettext("Inside of cycle {cycle}", {cycle})}<//> · <${FilmLink} session=${session} cycle=${cycle} pod=${`pod/${pod}`} /></p>`}</li>`;
      })}</ol></section>`;
}

/** "to node-b4, 3 of 11 nodes fit" or "0/12 nodes are available", without the reasons. */
function outcome(result, node, message) {
  if (!message) return node ? listText([result, node]) : result;
  return message.split(": ")[0];
}

/** The results of custom plugins at their extension points. */
function OwnPlugins({held}) {
  const points = Object.entries(held?.evidence.extension_points ?? {});
  if (points.length === 0) return null;
  return html`
    <section class="sec" aria-label=${gettext("Extension points")}><div class="sechead"><h2>${gettext("Extension points")}</h2><span class="note">${gettext("custom plugins")}</span></div>
      <dl class="kv">${points.map(([point, answers]) =>
        answers.map(
          ({plugin, code, reasons}, i) => html`
        <dt key=${`${point}${i}`}>${point}</dt><dd>${plugin} <span class="mute">${code}</span> ${clauses(reasons ?? [])}</dd>`,
        ),
      )}</dl></section>`;
}

function Events({session, id, record}) {
  const {seq} = session.model;
  return html`<${EventTable} session=${session} id=${id} events=${record.events.value.filter((event) => event.seq <= seq).reverse()} />`;
}

/** The zones of the nodes that exist at the event shown; a deleted node has none. */
function zoneIn(session) {
  const {entities} = session.model;
  return (name) => entities.get(`node/${name}`)?.zone ?? "";
}
