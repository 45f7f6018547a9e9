import {count, duration} from "../shared/format.js";

/** Mark, family and words of each severity of a cause. */
export const CAUSE_LOOK = {
  blocks: {mark: "no", family: "stuck", words: "excludes every node"},
  narrows: {mark: "unschedulable", family: "held", words: "excludes some nodes"},
  delays: {mark: "backoff", family: "clock", words: "resolves with time"},
  notes: {mark: "expired", family: "held", words: "worth knowing"},
};

/** Whether the pod waits for a node and is not terminating. */
export function isPending(pod) {
  return (
    Boolean(pod) &&
    !pod.node &&
    !pod.assumed &&
    pod.deleting === undefined &&
    pod.phase !== "Succeeded" &&
    pod.phase !== "Failed"
  );
}

/** "Label n2 disk=ssd: it is bound to n2 at 20.008 s." as the change and its outcome. */
export function fixParts({text}) {
  const at = text.lastIndexOf(": it ");
  if (at < 0) return {order: text, outcome: ""};
  const outcome = text.slice(at + 2);
  return {order: text.slice(0, at), outcome: outcome[0].toUpperCase() + outcome.slice(1)};
}

/** How an offered change was verified. */
export function proof({shown}) {
  return shown === "fork"
    ? {mark: "ok", family: "settled", words: "verified in a fork"}
    : {mark: "expired", family: "held", words: "scheduling decision only"};
}

/** The commands of a fix in order: one, or several that only help together. */
export function fixCommands({command, then, more = []}) {
  return then ? [command, then, ...more] : [command];
}

/** A command in a few words: "patch node/n2", "replace Pod default/web-3", "uncordon node/n1". */
export function commandWords({verb, object, manifest}) {
  if (!manifest) return `${verb} ${object}`;
  const {name, namespace} = manifest.metadata;
  return `${verb} ${manifest.kind} ${namespace ? `${namespace}/` : ""}${name}`;
}

/** The note of the section: how many changes were tried, and at which event. */
export function triedWords({seq, tried}) {
  const total = Object.values(tried ?? {}).reduce((sum, each) => sum + each, 0);
  const several = total === 1 ? "change" : "changes";
  return total === 0 ? `at event ${count(seq)}` : `${count(total)} ${several} tried at event ${count(seq)}`;
}

/** Whether an answer is for this event. */
export function isCurrent(answer, seq) {
  return answer?.status === "ready" && answer.diagnosis.seq === seq;
}

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

/** "This answer is for event 812, 12.40 s ago; the run has continued since then." */
export function staleWords(diagnosis, at) {
  return `This answer is for event ${count(diagnosis.seq)}, ${duration(at - diagnosis.at)} ago; the run has continued since then.`;
}

const REST_MS = 700;
const PLAYING_MS = 10_000;

/**
 * After how many ms to repeat the question, or null for never. Only questions at the newest event are
 * repeated: rarely while the run plays, and soon after it pauses.
 */
export function askAgainIn({held, id, pod, place, playing, sinceAnswer}) {
  if (held?.id !== id || held.status !== "ready" || place.past) return null;
  if (!isPending(pod) || isCurrent(held, place.seq)) return null;
  return playing ? Math.max(REST_MS, PLAYING_MS - sinceAnswer) : REST_MS;
}

/**
 * The answer about the pod of this id, or null. At the newest event an older answer is kept; in the past
 * only an answer for the event shown counts.
 */
export function answerFor(held, id, {seq, past}) {
  if (held?.id !== id) return null;
  return past && held.diagnosis && held.diagnosis.seq !== seq ? null : held;
}
