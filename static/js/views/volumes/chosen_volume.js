import {html} from "../../lib/html.js";
import {gettext, labelled, ngettext} from "../../lib/words.js";
import {ledByHealth} from "../../model/run/health_of.js";
import {accessModes, bytes, parseId, timeText} from "../../model/shared/format.js";
import {stepsOf} from "../../model/volumes/binding_steps.js";
import {nearestOf} from "../../model/volumes/candidates.js";
import {claimAnswer} from "../../model/volumes/claim_answer.js";
import {volumeAnswer} from "../../model/volumes/volume_answer.js";
import {answerFor} from "../../model/why/answer.js";
import {ChangeMenu} from "../run/change_menu.js";
import {Failures} from "../run/failures.js";
import {EventLink, EventTable} from "../shared/events.js";
import {Fixes} from "../shared/fixes.js";
import {ClaimFilmLink, InsideLink, ManifestLink} from "../shared/links.js";
import {Mark} from "../shared/mark.js";
import {Sentence} from "../shared/sentence.js";
import {Trial} from "../why/trial.js";
import {Why} from "../why/why.js";
import {CandidateTable} from "./candidates.js";
import {Sides} from "./volumes.js";

/** The selected claim or volume: its state, its binding, candidates and events. */
export function Selected({session, chosen, candidates, pick}) {
  const id = chosen.id.value;
  if (id === null) return null;
  const binding = chosen.binding();
  const held = candidates.held.value;
  const isOpen = chosen.isOpen.value;
  return html`
    <div class="sec detail">
      <${Binding} session=${session} id=${id} binding=${binding} isOpen=${isOpen} nearest=${nearestOf(held?.answer)} />
      <${CandidateTable} session=${session} held=${held} open=${!binding.claim?.volume && !binding.holder} pick=${pick} />
    </div>
    ${isOpen && html`<${EventTable} session=${session} id=${id} events=${eventsOfBoth(binding).reverse()} />`}`;
}

/** The events of the two objects, without those of the pod. */
function eventsOfBoth({events, claimId, volumeId}) {
  return events.filter(({object}) => object === claimId || object === volumeId);
}

function Binding({session, id, binding, isOpen, nearest}) {
  const {namespace, name} = parseId(id);
  const ofClaim = id.startsWith("claim/");
  const object = ofClaim ? binding.claim : binding.volume;
  return html`
    <section aria-label=${gettext("Binding of {name}", {name})}>
      <div class="sechead"><h2 class="own">${namespace && html`<span class="ns">${namespace}/</span>`}${name}</h2>
        <span class="note">${about(object, ofClaim)}</span>
         <div class="end">${object && html`<${Failures} key=${id} session=${session} id=${id} />${ofClaim && html`<${ClaimFilmLink} session=${session} id=${id} />`}<${InsideLink} session=${session} id=${id} /><${ChangeMenu} session=${session} id=${id} /><${ManifestLink} session=${session} id=${id} />`}</div></div>
      ${
        isOpen
          ? html`<${Progress} session=${session} id=${id} binding=${binding} answer=${ledByHealth(id, session.model, ofClaim ? claimAnswer(binding, nearest) : volumeAnswer(binding))} />`
          : html`<p class="small soft" role="status">${gettext("Reading its events…")}</p>`
      }
    </section>`;
}

/** How far a binding is, and what would help. */
function Progress({session, id, binding, answer}) {
  return html`
    <div class=${`blocker f-${answer.family}`}><p class="say"><${Sentence} text=${answer.sentence} /></p>
      ${answer.figure && html`<p class="figure num">${answer.figure.value}<small> ${answer.figure.words}</small></p>`}
      ${!isAnswered(session, id) && html`<${Fixes} session=${session} id=${id} fixes=${answer.fixes} />`}</div>
    <${Trial} session=${session} id=${id} />
    <${Why} session=${session} id=${id} />
    <${Sides} ...${binding} />
    <ol class="steps">${stepsOf(binding).map((step) => html`<${Step} key=${step.name} session=${session} step=${step} />`)}</ol>`;
}

/** Whether the answer to the question why offers changes, which were tried. */
function isAnswered(session, id) {
  return (answerFor(session.why.held.value, id, session.place)?.diagnosis?.fixes.length ?? 0) > 0;
}

function about(object, ofClaim) {
  if (!object) return gettext("not in the cluster at this moment");
  const size = ofClaim ? object.request : object.capacity;
  return [
    size && bytes(size),
    accessModes(object.modes),
    object.class ?? gettext("no class"),
    !ofClaim && object.affinity,
  ]
    .filter(Boolean)
    .join(" · ");
}

function Step({session, step}) {
  const {status, parts} = step;
  const own = html`<div class=${`step ${status}`}><${Row} session=${session} step=${step} /></div>`;
  if (parts.length === 0) return html`<li>${own}</li>`;
  return html`
    <li class=${status === "now" ? `bindblock f-${step.family}` : ""}>${own}
      <ol>${parts.map((part, i) => html`<li key=${i} class=${`step write ${part.status}`}><${Row} session=${session} step=${part} /></li>`)}</ol></li>`;
}

function Row({session, step: {name, mark, family, what, times = 1, at, seq, kind}}) {
  return html`<${Mark} name=${mark} family=${family} /><b>${name}</b><span class="what" title=${kind ? labelled(kind, what) : what}>${times > 1 && html`<b>${ngettext("{count} time", "{count} times", times)}</b> `}${what}</span>
    <span class="t">${seq !== undefined && html`<${EventLink} session=${session} seq=${seq}>${timeText(at)}<//>`}</span>`;
}
