import {capital, gettext, sentences} from "../../lib/words.js";
import {timeText} from "../shared/format.js";

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
  if (gone) return {family: "held", mark: "lost", words: gettext("It was deleted at {at}.", {at: timeText(gone.at)})};
  if (at < trial.by && isPlaying(run)) return playingWords(trial);
  if (!areKnown(events, pod, seq)) return {family: "clock", mark: "in-flight", words: gettext("Reading the outcome…")};
  const refused = at < (trial.at ?? 0) ? null : refusalOf(since);
  if (refused)
    return {
      family: "stuck",
      mark: "no",
      words: gettext("It was rejected again at {at}: {message}", {at: timeText(refused.at), message: refused.message}),
    };
  return {
    family: "held",
    mark: "pending",
    words: gettext("It was not scheduled by {at}.", {at: timeText(Math.min(at, trial.by))}),
  };
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
  const predicted = promise && gettext("Predicted: {promise}.", {promise});
  if (at < by && isPlaying(run))
    return {
      family: "clock",
      mark: "in-flight",
      words: sentences([gettext("Playing up to {time}.", {time: timeText(by)}), predicted]),
    };
  if (at < by && run.status !== "finished")
    return {
      family: "clock",
      mark: "pending",
      words: sentences([gettext("The result is due at {time}.", {time: timeText(by)}), predicted]),
    };
  if (answer?.status === "failed" && !answer.diagnosis)
    return {
      family: "held",
      mark: "expired",
      words: sentences([gettext("The outcome could not be read."), answer.message]),
    };
  if (!answer?.diagnosis) return {family: "clock", mark: "in-flight", words: gettext("Reading the outcome…")};
  const {outcome, sentence} = answer.diagnosis;
  if (!outcome)
    return {
      family: "stuck",
      mark: "no",
      words: sentences([gettext("Not as predicted."), sentence, predicted]),
    };
  const reached = capital(outcome);
  const kept = !promise || outcome === promise;
  return {
    family: "settled",
    mark: "ok",
    words: kept
      ? gettext("{reached}, as predicted.", {reached})
      : sentences([gettext("{words}.", {words: reached}), predicted]),
  };
}

function boundWords({node, at}, there, then) {
  const kept = there === node && (at === null || at === then);
  const facts = {node: there, time: timeText(then)};
  const words = !node
    ? gettext("It was bound to {node} at {time}.", facts)
    : kept
      ? gettext("It was bound to {node} at {time}, as predicted.", facts)
      : at === null
        ? gettext("It was bound to {node} at {time}; predicted was {promised}.", {...facts, promised: node})
        : gettext("It was bound to {node} at {time}; predicted was {promised} at {due}.", {
            ...facts,
            promised: node,
            due: timeText(at),
          });
  return {family: "settled", mark: "bound", words};
}

function playingWords({at, by, node}) {
  const words =
    at === null
      ? gettext("Playing until the pod is scheduled, at the latest until {by}.", {by: timeText(by)})
      : gettext("Playing up to {at}, when it should be bound to {node}.", {at: timeText(at), node});
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
