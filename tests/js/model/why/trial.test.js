import assert from "node:assert/strict";
import {test} from "node:test";

import {asksOutcome, promiseOf, trialOutcome, triedObject} from "../../../../static/js/model/why/trial.js";

const SECOND = 1e9;
const ID = "pod/shop/web";
const TRIAL = {object: ID, order: "Uncordon n1", node: "n1", at: 20 * SECOND, by: 20 * SECOND, since: 10};
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

test("a pod bound as predicted says so", () => {
  const bound = {seq: 22, at: 20 * SECOND, kind: "PodBound"};
  const {family, words} = outcome({pod: {node: "n1"}, events: [...OLDER, LATER, bound]});
  assert.deepEqual([family, words], ["settled", "It was bound to n1 at 20.000 s, as predicted."]);
});

test("a pod bound elsewhere names the prediction", () => {
  const bound = {seq: 22, at: 12 * SECOND, kind: "PodBound"};
  const {words} = outcome({pod: {node: "n2"}, events: [bound], at: 12 * SECOND});
  assert.equal(words, "It was bound to n2 at 12.000 s; predicted was n1 at 20.000 s.");
});

test("a playing run has no outcome yet", () => {
  const {family, words} = outcome({status: "playing", at: 6 * SECOND});
  assert.deepEqual([family, words], ["clock", "Playing up to 20.000 s, when it should be bound to n1."]);
});

test("an older attempt's error is not the outcome", () => {
  assert.equal(outcome({}).words, "It was not scheduled by 20.000 s.");
});

test("a rejection after the change is the outcome", () => {
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

test("unread events are not judged", () => {
  assert.equal(outcome({events: OLDER}).words, "Reading the outcome…");
});

test("an earlier event shows the prediction", () => {
  const bound = {seq: 22, at: 20 * SECOND, kind: "PodBound"};
  const {words} = outcome({events: [...OLDER, LATER, bound], seq: 20, at: 19 * SECOND});
  assert.equal(words, "It was not scheduled by 19.000 s.");
});

test("a trial is about one pod", () => {
  assert.equal(trialOutcome({trial: TRIAL}, "pod/shop/other", {events: [], seq: 0, at: 0}), null);
  assert.equal(trialOutcome({trial: null}, ID, {events: [], seq: 0, at: 0}), null);
});

test("a trial of an older version names its pod", () => {
  assert.equal(triedObject({pod: ID}), ID);
  assert.equal(triedObject({object: "claim/a/b"}), "claim/a/b");
  assert.equal(triedObject(null), null);
});

const CLAIM = "claim/shop/data";
const PROMISED = {object: CLAIM, order: "Offer ReadWriteMany", node: "", at: 20 * SECOND, by: 20 * SECOND, since: 10};
PROMISED.outcome = "it is bound to pv";

function reached({status = "paused", answer = null, at = 20 * SECOND}) {
  return trialOutcome({trial: PROMISED, status}, CLAIM, {pod: undefined, events: [], answer, seq: 40, at});
}

test("an object that has what was promised says so", () => {
  const answer = {status: "ready", diagnosis: {outcome: "it is bound to pv", sentence: "Nothing is wrong with it."}};
  const {family, words} = reached({answer});
  assert.deepEqual([family, words], ["settled", "It is bound to pv, as predicted."]);
});

test("another result names the prediction", () => {
  const answer = {status: "ready", diagnosis: {outcome: "it is bound to pv-2", sentence: ""}};
  assert.equal(reached({answer}).words, "It is bound to pv-2. Predicted: it is bound to pv.");
});

test("a broken promise gives the reason", () => {
  const answer = {status: "ready", diagnosis: {outcome: "", sentence: "No volume fits."}};
  const {family, words} = reached({answer});
  assert.deepEqual([family, words], ["stuck", "Not as predicted. No volume fits. Predicted: it is bound to pv."]);
});

test("before the promised instant the result is due", () => {
  const early = {at: 12 * SECOND};
  assert.equal(reached({...early, status: "playing"}).words, "Playing up to 20.000 s. Predicted: it is bound to pv.");
  assert.equal(reached(early).words, "The result is due at 20.000 s. Predicted: it is bound to pv.");
});

test("an unread or unreadable result says so", () => {
  assert.equal(reached({}).words, "Reading the outcome…");
  const failed = {status: "failed", message: "Try again."};
  assert.equal(reached({answer: failed}).words, "The outcome could not be read. Try again.");
});

test("the server is asked once at the promised instant", () => {
  const run = {trial: PROMISED, status: "paused"};
  assert.equal(asksOutcome(run, CLAIM, {at: 20 * SECOND, isHeld: false}), true);
  assert.equal(asksOutcome(run, CLAIM, {at: 20 * SECOND, isHeld: true}), false);
  assert.equal(asksOutcome(run, CLAIM, {at: 19 * SECOND, isHeld: false}), false);
  assert.equal(asksOutcome({...run, status: "finished"}, CLAIM, {at: 19 * SECOND, isHeld: false}), true);
  assert.equal(asksOutcome({...run, status: "playing"}, CLAIM, {at: 20 * SECOND, isHeld: false}), false);
  assert.equal(asksOutcome(run, "claim/shop/other", {at: 20 * SECOND, isHeld: false}), false);
  assert.equal(asksOutcome({...run, trial: {...TRIAL, object: ID}}, ID, {at: 20 * SECOND, isHeld: false}), false);
});

test("a promise is the outcome without its instant", () => {
  assert.equal(promiseOf("It is bound to pv at 20.008 s."), "it is bound to pv");
  assert.equal(promiseOf("It may be evicted at 1 s."), "it may be evicted");
  assert.equal(promiseOf(""), "");
});
