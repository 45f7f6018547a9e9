import {html} from "../../lib/html.js";
import {trialOutcome} from "../../model/pods/trial.js";
import {Mark} from "../shared/mark.js";

/** The change that was tried in this fork, and its outcome. */
export function Trial({session, id, record}) {
  const run = session.run.value;
  const {entities, seq, at} = session.model;
  const outcome = trialOutcome(run, id, {pod: entities.get(id), events: record.events.value, seq, at});
  if (!outcome) return null;
  return html`
    <section class=${`trial f-${outcome.family}`} aria-label="Tried change">
      <p class="small"><span class="soft">Tried in this fork: </span><b class="strong">${run.trial.order}</b></p>
      <p class="state" role="status"><${Mark} name=${outcome.mark} family=${outcome.family} />${outcome.words}</p>
    </section>`;
}
