import assert from "node:assert/strict";
import {test} from "node:test";

import {trialOutcome} from "../../../static/js/model/trial.js";

const SECOND = 1e9;
const ID = "pod/shop/web";
const TRIAL = {pod: ID, order: "Uncordon n1", node: "n1", at: 20 * SECOND, by: 20 * SECOND, since: 10};
const WAITING = {queue: "unschedulable", attempts: 2};

/** An attempt before the change whose end comes after it, and what follows. */
const OLDER = [
  {seq: 9, at: 4 * SECOND, kind: "AttemptStarted"},
  {seq: 12, at: 5 * SECOND, kind: "FailedScheduling", data: {type: "Warning"}, message: "the old error"},
];
const LATER = {seq: 20, at: 19 * SECOND, kind: "AttemptStarted"};

function outcome({
  trial = TRIAL,
  status = "paused",
  pod = WAITING,
  events = [...OLDER, LATER],
  seq = 99,
  at = 20 * SECOND,
}) {
  return trialOutcome({trial, status}, ID, {pod, events, seq, at});
}

test("a pod bound as predicted keeps the promise", () => {
  const bound = {seq: 22, at: 20 * SECOND, kind: "PodBound"};
  const {family, words} = outcome({pod: {node: "n1"}, events: [...OLDER, LATER, bound]});
  assert.deepEqual([family, words], ["settled", "It was bound to n1 at 20.000 s, as predicted."]);
});

test("a pod that is bound elsewhere says what was promised", () => {
  const bound = {seq: 22, at: 12 * SECOND, kind: "PodBound"};
  const {words} = outcome({pod: {node: "n2"}, events: [bound], at: 12 * SECOND});
  assert.equal(words, "It was bound to n2 at 12.000 s; predicted was n1 at 20.000 s.");
});

test("while it plays the old error is not what came of it", () => {
  const {family, words} = outcome({status: "playing", at: 6 * SECOND});
  assert.deepEqual([family, words], ["clock", "Playing up to 20.000 s, when it should be bound to n1."]);
});

test("an older error refuses no change", () => {
  assert.equal(outcome({}).words, "It was not scheduled by 20.000 s.");
});

test("a later refusal is the trial's outcome", () => {
  const refused = {
    seq: 21,
    at: 20 * SECOND,
    kind: "FailedScheduling",
    data: {type: "Warning"},
    message: "0/2 nodes are available",
  };
  const {family, words} = outcome({events: [...OLDER, LATER, refused]});
  assert.deepEqual([family, words], ["stuck", "It was rejected again at 20.000 s: 0/2 nodes are available"]);
});

test("what is not read yet is not judged", () => {
  assert.equal(outcome({events: OLDER}).words, "Reading the outcome…");
});

test("a look back shows the trial's outcome", () => {
  const bound = {seq: 22, at: 20 * SECOND, kind: "PodBound"};
  const {words} = outcome({events: [...OLDER, LATER, bound], seq: 20, at: 19 * SECOND});
  assert.equal(words, "It was not scheduled by 19.000 s.");
});

test("a trial is of one pod", () => {
  assert.equal(trialOutcome({trial: TRIAL}, "pod/shop/other", {events: [], seq: 0, at: 0}), null);
  assert.equal(trialOutcome({trial: null}, ID, {events: [], seq: 0, at: 0}), null);
});
