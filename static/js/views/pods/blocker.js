import {html} from "../../lib/html.js";
import {gettext, sentences} from "../../lib/words.js";
import {openingOf} from "../../model/health/health.js";
import {podHealth} from "../../model/health/pod.js";
import {instantWords} from "../../model/pods/blocker.js";
import {figureOf} from "../../model/pods/verdict.js";
import {isTerminating} from "../../model/shared/terminating.js";
import {Sentence} from "../shared/sentence.js";

/**
 * What a pod waits for, if a nominated pod, a failing or a stuck one on its node tells more than its newest attempt;
 * then the result of the newest attempt: one sentence, one number, and the time of the attempt. Changes that would
 * help now are computed separately (see why.js), because the cluster may have changed since then.
 */
export function Blocker({session, id, pod, attempt}) {
  const {blocker} = pod;
  const health = podHealth(id, pod, session.model);
  const {state, family} = health;
  const leads = Boolean(pod.nominated && !pod.node) || (pod.node && !isTerminating(pod) && state !== "well");
  if (leads)
    return html`<section class=${`blocker f-${family}`}>
      <p class="say"><${Sentence} text=${gettext("{words}.", {words: openingOf(health)})} /></p>
      ${blocker && html`<p class="small soft instant">${sentences([blocker.sentence, instantWords(blocker, attempt, session.model)])}</p>`}
    </section>`;
  if (!blocker) return null;
  const figure = figureOf(blocker);
  const instant = instantWords(blocker, attempt, session.model);
  return html`
    <section class=${`blocker f-${family}`}>
      <p class="say"><${Sentence} text=${blocker.sentence} /></p>
      ${figure && html`<p class="figure num">${figure.value}<small> ${figure.words}</small></p>`}
      ${instant && html`<p class="small soft instant">${instant}</p>`}
    </section>`;
}
