import {html} from "../lib/html.js";
import {answerFor} from "../model/diagnosis.js";
import {figureOf} from "../model/verdict.js";
import {TryInFork} from "./try_in_fork.js";

/** The answer: one sentence, one number, the smallest fixes. */
export function Blocker({board, id, pod}) {
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
      <${Fixes} board=${board} id=${id} fixes=${fixes} />
    </section>`;
}

/** What would help an object, in words; what is a change of an object can be sent to the engine. */
export function Fixes({board, id, fixes}) {
  if (fixes.length === 0) return null;
  return html`<div class="fixes">${fixes.map((fix, i) => html`
    <div class="fix" key=${fix.text}><span><${Amounts} text=${fix.text} /></span>
      <${FixButtons} board=${board} id=${id} fix=${fix} first=${i === 0} /></div>`)}</div>`;
}

/** The colour of a blocker: promised where victims are leaving, held at a gate. */
export function blockerFamily(pod) {
  if (pod.nominated) return "promised";
  return pod.queue === "gated" ? "held" : "stuck";
}

/**
 * A fix that is a change of an object can be sent to the engine, at the newest event; one for a pod
 * to a fork, which is followed until the pod is decided on.
 */
function FixButtons({board, id, fix, first}) {
  if (!fix.patch) return null;
  const object = fix.object ?? id;
  const {seq, past} = board.place;
  return html`<span class="does">${!past && html`<button class=${`btn${first ? " primary" : ""}`} aria-label=${`Apply: ${fix.text}`}
      onClick=${() => board.applyFix(object, fix.patch)}>Apply</button>`}
    ${id.startsWith("pod/") && html`<${TryInFork} board=${board} id=${id}
      commands=${[{verb: "patch", object, patch: fix.patch}]} order=${fix.text} seq=${past ? seq : null} />`}</span>`;
}

const AMOUNT = /((?<![\w.-])\d+(?:\.\d+)?(?:m| ?[KMGT]i)?\b(?![.-]\w))/;

/** A sentence whose amounts stand out. */
function Amounts({text}) {
  return text.split(AMOUNT).map((part, i) => (i % 2 === 1 ? html`<b class="strong">${part}</b>` : part));
}
