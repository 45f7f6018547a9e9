import {moment} from "../shared/format.js";

/**
 * The outcome of a change that was tried in this fork, as {family, mark, words}; null if the trial is about
 * another pod. `events` are those about the pod, oldest first; `seq` and `at` are the event shown and its
 * time.
 */
export function trialOutcome(run, id, {pod, events, seq, at}) {
  const {trial} = run;
  if (trial?.pod !== id) return null;
  const since = events.filter((event) => event.seq > trial.since && event.seq <= seq);
  const bound = since.findLast(({kind}) => kind === "PodBound");
  if (bound && pod?.node) return boundWords(trial, pod.node, bound.at);
  const gone = !pod && since.findLast(({kind}) => kind === "PodDeleted");
  if (gone) return {family: "held", mark: "lost", words: `It was deleted at ${moment(gone.at)} s.`};
  if (at < trial.by && (run.status === "playing" || (run.goal_at ?? null) !== null)) return playingWords(trial);
  if (!areKnown(events, pod, seq)) return {family: "clock", mark: "in-flight", words: "Reading the outcome…"};
  const refused = at < (trial.at ?? 0) ? null : refusalOf(since);
  if (refused)
    return {family: "stuck", mark: "no", words: `It was rejected again at ${moment(refused.at)} s: ${refused.message}`};
  return {family: "held", mark: "pending", words: `It was not scheduled by ${moment(Math.min(at, trial.by))} s.`};
}

function boundWords({node, at}, there, then) {
  const kept = there === node && (at === null || at === then);
  const promise = at === null ? node : `${node} at ${moment(at)} s`;
  const rest = kept ? ", as predicted" : `; predicted was ${promise}`;
  return {family: "settled", mark: "bound", words: `It was bound to ${there} at ${moment(then)} s${node ? rest : ""}.`};
}

function playingWords({at, by, node}) {
  const words =
    at === null
      ? `Playing until the pod is scheduled, at the latest until ${moment(by)} s.`
      : `Playing up to ${moment(at)} s, when it should be bound to ${node}.`;
  return {family: "clock", mark: "in-flight", words};
}

/** Whether the loaded events include every attempt of the pod. */
function areKnown(events, pod, seq) {
  const known = events.filter((event) => event.kind === "AttemptStarted" && event.seq <= seq).length;
  return events.length > 0 && known >= (pod?.attempts ?? 0);
}

/** The newest rejection by an attempt that began after the change. */
function refusalOf(events) {
  const began = events.findIndex(({kind}) => kind === "AttemptStarted");
  if (began < 0) return null;
  return (
    events.slice(began).findLast(({kind, data}) => kind === "FailedScheduling" && data?.type === "Warning") ?? null
  );
}
