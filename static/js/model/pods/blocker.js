import {clauses, gettext} from "../../lib/words.js";
import {count, duration} from "../shared/format.js";
import {sinceWords} from "./evidence.js";

/**
 * When a blocker was found: at its attempt. `attempt` is the newest known attempt, {number, seq, at}; `seq`
 * and `at` of `model` are the event shown and its time.
 */
export function instantWords(blocker, attempt, model) {
  if (!blocker.attempt) return "";
  if (attempt?.number !== blocker.attempt)
    return gettext("As of attempt {attempt}.", {attempt: count(blocker.attempt)});
  return ageWords(attempt, model);
}

/** "As of attempt 3, 3.82 s ago, event 660; 140 events since then." for what an attempt decided. */
export function ageWords(attempt, {seq, at}) {
  const words = gettext("As of attempt {number}, {time} ago, event {seq}", {
    number: count(attempt.number),
    time: duration(at - attempt.at),
    seq: count(attempt.seq),
  });
  const since = sinceWords(attempt, {seq});
  return gettext("{words}.", {words: clauses([words, since])});
}
