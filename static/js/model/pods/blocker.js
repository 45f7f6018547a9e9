import {count, duration} from "../shared/format.js";

/**
 * When a blocker was found: at its attempt. `attempt` is the newest known attempt, {number, seq, at}; `seq`
 * and `at` are the event shown and its time.
 */
export function instantWords(blocker, attempt, {seq, at}) {
  if (!blocker.attempt) return "";
  if (attempt?.number !== blocker.attempt) return `As of attempt ${count(blocker.attempt)}.`;
  const since = seq - attempt.seq;
  const words = `As of attempt ${count(attempt.number)}, ${duration(at - attempt.at)} ago, event ${count(attempt.seq)}`;
  if (since <= 0) return `${words}.`;
  return `${words}; ${count(since)} ${since === 1 ? "event" : "events"} since then.`;
}
