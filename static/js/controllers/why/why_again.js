import {effect} from "@preact/signals";

import {answerFor, askAgainIn, isAskable, isUnderWay} from "../../model/why/answer.js";
import {asksOutcome} from "../../model/why/trial.js";

/**
 * Keep the answer about the object of a page in step with the run: repeat the question at a limited rate when
 * the run has continued, drop an answer that is still on its way when the page shows something else, and ask
 * what came of the change that a fork tries.
 */
export function followWhy(session) {
  if (session.isRecorded) {
    followRecorded(session);
    return;
  }
  followChoice(session);
  followRun(session);
  followTrial(session);
}

/** A file has its answers at hand: each is shown where it is of. */
function followRecorded(session) {
  effect(() => {
    if (session.isWaiting) return;
    const id = session.subject();
    const isAnswered = !session.place.past && session.run.value.answered?.includes(id);
    if (isAnswered && session.why.held.value?.id !== id) session.askWhy();
  });
}

/** An answer that arrives after the selection or the event shown has changed is not wanted any more. */
function followChoice(session) {
  effect(() => {
    const held = session.why.held.value;
    if (isUnderWay(held) && !answerFor(held, session.subject(), session.place)) session.why.forget();
  });
}

function followRun(session) {
  /** @type {ReturnType<typeof setTimeout> | null} */
  let timer = null;
  let answered = null;
  let answeredAt = 0;
  effect(() => {
    const held = session.why.held.value;
    if (held !== answered && !isUnderWay(held)) [answered, answeredAt] = [held, performance.now()];
    const id = session.subject();
    const playing = session.run.value.status === "playing";
    const wait = askAgainIn({
      held,
      id,
      playing,
      exists: isAskable(id, session.model.entities),
      place: session.place,
      sinceAnswer: performance.now() - answeredAt,
    });
    // A playing run always has newer events, so a running timer is not restarted.
    if (wait !== null && playing && timer !== null) return;
    clearTimeout(timer ?? undefined);
    timer =
      wait === null
        ? null
        : setTimeout(() => {
            timer = null;
            if (!document.hidden) session.askWhy();
          }, wait);
  });
}

function followTrial(session) {
  effect(() => {
    if (session.isWaiting) return;
    const id = session.subject();
    const isHeld = answerFor(session.why.held.value, id, session.place) !== null;
    if (asksOutcome(session.run.value, id, {at: session.model.at, isHeld})) session.askWhy();
  });
}
