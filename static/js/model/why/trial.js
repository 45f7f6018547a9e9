import {moment} from "../shared/format.js";

/** The id of the object that a trial is about. Runs of older versions store a pod. */
export function triedObject(trial) {
  return trial ? (trial.object ?? trial.pod) : null;
}

/** Whether a trial promises what an object becomes, not the node of a pod. */
export function promisesOutcome(trial) {
  return Boolean(trial) && !trial.node && trial.at !== null;
}

/**
 * The outcome of a change that was tried in this fork, as {family, mark, words}; null if the trial is about
 * another object. `events` are those about the pod, oldest first, `answer` is what the server says about
 * another object at the event shown (see answerFor), and `seq` and `at` are that event and its time.
 */
export function trialOutcome(run, id, {pod, events, answer = null, seq, at}) {
  const {trial} = run;
  if (triedObject(trial) !== id) return null;
  if (promisesOutcome(trial)) return reachedOutcome(run, answer, at);
  const since = events.filter((event) => event.seq > trial.since && event.seq <= seq);
  const bound = since.findLast(({kind}) => kind === "PodBound");
  if (bound && pod?.node) return boundWords(trial, pod.node, bound.at);
  const gone = !pod && since.findLast(({kind}) => kind === "PodDeleted");
  if (gone) return {family: "held", mark: "lost", words: `It was deleted at ${moment(gone.at)} s.`};
  if (at < trial.by && isPlaying(run)) return playingWords(trial);
  if (!areKnown(events, pod, seq)) return {family: "clock", mark: "in-flight", words: "Reading the outcome…"};
  const refused = at < (trial.at ?? 0) ? null : refusalOf(since);
  if (refused)
    return {family: "stuck", mark: "no", words: `It was rejected again at ${moment(refused.at)} s: ${refused.message}`};
  return {family: "held", mark: "pending", words: `It was not scheduled by ${moment(Math.min(at, trial.by))} s.`};
}

/**
 * Whether the server has to be asked what came of a trial: the promised instant is shown and the run does not
 * play. `isHeld` is whether it was asked already.
 */
export function asksOutcome(run, id, {at, isHeld}) {
  if (isHeld || triedObject(run.trial) !== id || !promisesOutcome(run.trial)) return false;
  return !isPlaying(run) && (at >= run.trial.at || run.status === "finished");
}

function isPlaying(run) {
  return run.status === "playing" || (run.goal_at ?? null) !== null;
}

/** What came of a trial that promises what an object becomes. */
function reachedOutcome(run, answer, at) {
  const {at: by, outcome: promise} = run.trial;
  const predicted = promise ? ` Predicted: ${promise}.` : "";
  if (at < by && isPlaying(run))
    return {family: "clock", mark: "in-flight", words: `Playing up to ${moment(by)} s.${predicted}`};
  if (at < by && run.status !== "finished")
    return {family: "clock", mark: "pending", words: `The result is due at ${moment(by)} s.${predicted}`};
  if (answer?.status === "failed" && !answer.diagnosis)
    return {family: "held", mark: "expired", words: `The outcome could not be read. ${answer.message}`};
  if (!answer?.diagnosis) return {family: "clock", mark: "in-flight", words: "Reading the outcome…"};
  const {outcome, sentence} = answer.diagnosis;
  if (!outcome) return {family: "stuck", mark: "no", words: `Not as predicted. ${sentence}${predicted}`};
  const reached = `${outcome[0].toUpperCase()}${outcome.slice(1)}`;
  const kept = !promise || outcome === promise;
  return {family: "settled", mark: "ok", words: kept ? `${reached}, as predicted.` : `${reached}.${predicted}`};
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

/** "It is bound to data-1 at 20.008 s." as a promise: "it is bound to data-1". */
export function promiseOf(outcome) {
  const words = outcome.replace(/ at \S+ s\.$/, "").replace(/\.$/, "");
  return words && words[0].toLowerCase() + words.slice(1);
}
