import {html} from "../../lib/html.js";
import {gettext} from "../../lib/words.js";
import {answerFor} from "../../model/why/answer.js";
import {trialOutcome} from "../../model/why/trial.js";
import {Mark} from "../shared/mark.js";

/** The change that was tried in this fork, and its outcome. `events` are those about a pod. */
export function Trial({session, id, events = []}) {
  const run = session.run.value;
  const {entities, seq, at} = session.model;
  const answer = answerFor(session.why.held.value, id, session.place);
  const outcome = trialOutcome(run, id, {pod: entities.get(id), events, answer, seq, at});
  if (!outcome) return null;
  return html`
    <section class=${`trial f-${outcome.family}`} aria-label=${gettext("Tried change")}>
      <p class="small"><span class="soft">${gettext("Tried in this fork:")} </span><b class="strong">${run.trial.order}</b></p>
      <p class="state" role="status"><${Mark} name=${outcome.mark} family=${outcome.family} />${outcome.words}</p>
    </section>`;
}
