import {html} from "../../lib/html.js";
import {instantWords} from "../../model/pods/blocker.js";
import {figureOf} from "../../model/pods/verdict.js";

/**
 * The result of the newest attempt: one sentence, one number, and the time of the attempt. Changes that would
 * help now are computed separately (see why.js), because the cluster may have changed since then.
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

/** The colour of a blocker: promised where victims are leaving, held at a gate. */
export function blockerFamily(pod) {
  if (pod.nominated) return "promised";
  return pod.queue === "gated" ? "held" : "stuck";
}
