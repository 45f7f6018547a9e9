import {html} from "../lib/html.js";
import {instantWords} from "../model/diagnosis.js";
import {READ_ONLY} from "../model/rights.js";
import {figureOf} from "../model/verdict.js";

/**
 * What the newest attempt came to: one sentence, one number, and which instant they are of. What would
 * help now is found out anew (see why.js): since the attempt other pods may have taken the room.
 */
export function Blocker({session, pod, attempt}) {
  const {blocker} = pod;
  if (!blocker) return null;
  const figure = figureOf(blocker);
  const instant = instantWords(blocker, attempt, session.model);
  return html`
    <section class=${`blocker f-${blockerFamily(pod)}`}>
      <p class="say">${blocker.sentence}</p>
      ${figure && html`<p class="figure num">${figure.value}<small> ${figure.words}</small></p>`}
      ${instant && html`<p class="small soft instant">${instant}</p>`}
    </section>`;
}

/** What would help an object, in words; what is a change of an object can be sent to the engine. */
export function Fixes({session, id, fixes}) {
  if (fixes.length === 0) return null;
  return html`<div class="fixes">${fixes.map(
    (fix, i) => html`
    <div class="fix" key=${fix.text}><span><${Amounts} text=${fix.text} /></span>
      <${FixButtons} session=${session} id=${id} fix=${fix} first=${i === 0} /></div>`,
  )}</div>`;
}

/** The colour of a blocker: promised where victims are leaving, held at a gate. */
export function blockerFamily(pod) {
  if (pod.nominated) return "promised";
  return pod.queue === "gated" ? "held" : "stuck";
}

/** A fix that is a change of an object can be sent to the engine, at the newest event. */
function FixButtons({session, id, fix, first}) {
  if (!fix.patch) return null;
  const object = fix.object ?? id;
  return html`<span class="does">${
    !session.place.past &&
    html`<button class=${`btn${first ? " primary" : ""}`} aria-label=${`Apply: ${fix.text}`}
    disabled=${!session.mayChange} title=${session.mayChange ? undefined : READ_ONLY}
    onClick=${() => session.commands.patch(object, fix.patch)}>Apply</button>`
  }</span>`;
}

const AMOUNT = /((?<![\w.-])\d+(?:\.\d+)?(?:m| ?[KMGT]i)?\b(?![.-]\w))/;

/** A sentence whose amounts stand out. */
function Amounts({text}) {
  return text.split(AMOUNT).map((part, i) => (i % 2 === 1 ? html`<b class="strong">${part}</b>` : part));
}
