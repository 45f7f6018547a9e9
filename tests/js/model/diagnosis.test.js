import assert from "node:assert/strict";
import {test} from "node:test";

import {
  answerFor,
  askAgainIn,
  commandWords,
  fixCommands,
  fixParts,
  instantWords,
  isCurrent,
  isPending,
  proof,
  staleWords,
  triedWords,
} from "../../../static/js/model/diagnosis.js";

test("only a pod that waits for a node is asked about", () => {
  assert.equal(isPending({queue: "unschedulable"}), true);
  assert.equal(isPending({queue: "gated", gates: ["quota"]}), true);
  assert.equal(isPending({node: "n1"}), false);
  assert.equal(isPending({assumed: "n1"}), false);
  assert.equal(isPending({deleting: 0}), false);
  assert.equal(isPending({phase: "Failed"}), false);
  assert.equal(isPending(undefined), false);
});

test("a fix is an order and what came of it", () => {
  const text = "Tolerate gpu=yes:NoSchedule: it is bound to n2 at 20.008 s.";
  assert.deepEqual(fixParts({text}), {
    order: "Tolerate gpu=yes:NoSchedule",
    outcome: "It is bound to n2 at 20.008 s.",
  });
  assert.deepEqual(fixParts({text: "Wait."}), {order: "Wait.", outcome: ""});
});

test("two changes together are one order and two commands", () => {
  const text = "Uncordon n, and ask for 4 cpu instead of 5: it is bound to n at 20.008 s.";
  assert.equal(fixParts({text}).order, "Uncordon n, and ask for 4 cpu instead of 5");
  const command = {verb: "uncordon", object: "node/n"};
  const then = {verb: "patch", object: "pod/default/p", patch: {}};
  assert.deepEqual(fixCommands({command, then}), [command, then]);
  assert.deepEqual(fixCommands({command, then: null}), [command]);
});

test("a fix says whether it was run or only decided again", () => {
  assert.equal(proof({shown: "fork"}).words, "verified in a fork");
  assert.equal(proof({shown: "decision"}).words, "scheduling decision only");
});

test("a command is named by its verb and what it is about", () => {
  assert.equal(commandWords({verb: "patch", object: "node/n2", patch: {}}), "patch node/n2");
  const pod = {kind: "Pod", metadata: {namespace: "shop", name: "web-3"}};
  assert.equal(commandWords({verb: "replace", manifest: pod}), "replace Pod shop/web-3");
  const node = {kind: "Node", metadata: {name: "n3"}};
  assert.equal(commandWords({verb: "create", manifest: node}), "create Node n3");
});

test("the title counts what was tried", () => {
  assert.equal(triedWords({seq: 1812, tried: {label: 2, node: 1}}), "3 changes tried at event 1,812");
  assert.equal(triedWords({seq: 8, tried: {gate: 1}}), "1 change tried at event 8");
  assert.equal(triedWords({seq: 8, tried: {}}), "at event 8");
});

const HELD = {id: "pod/a/b", status: "ready", diagnosis: {seq: 7}};

test("an answer is about one event", () => {
  assert.equal(isCurrent(HELD, 7), true);
  assert.equal(isCurrent(HELD, 8), false);
  assert.equal(isCurrent({id: "pod/a/b", status: "loading"}, 7), false);
  assert.equal(isCurrent(null, 7), false);
});

test("an answer is hidden in another past", () => {
  assert.equal(answerFor(HELD, "pod/a/b", {seq: 9, past: false}), HELD);
  assert.equal(answerFor(HELD, "pod/a/b", {seq: 7, past: true}), HELD);
  assert.equal(answerFor(HELD, "pod/a/b", {seq: 6, past: true}), null);
  assert.equal(answerFor(HELD, "pod/a/c", {seq: 7, past: false}), null);
  const loading = {id: "pod/a/b", status: "loading"};
  assert.equal(answerFor(loading, "pod/a/b", {seq: 6, past: true}), loading);
  assert.equal(answerFor(null, "pod/a/b", {seq: 7, past: false}), null);
});

test("a blocker names its attempt and age", () => {
  const place = {seq: 857, at: 62.4e9};
  const attempt = {number: 3, seq: 812, at: 50e9};
  assert.equal(
    instantWords({attempt: 3}, attempt, place),
    "As of attempt 3, 12.40 s ago, event 812; 45 events since then.",
  );
  assert.equal(instantWords({attempt: 3}, attempt, {seq: 812, at: 50e9}), "As of attempt 3, 0 s ago, event 812.");
  assert.equal(instantWords({attempt: 3}, {...attempt, number: 2}, place), "As of attempt 3.");
  assert.equal(instantWords({attempt: 3}, undefined, place), "As of attempt 3.");
  assert.equal(instantWords({attempt: 0}, attempt, place), "");
});

test("an outdated answer names its event", () => {
  assert.equal(
    staleWords({seq: 812, at: 50e9}, 62.4e9),
    "This is of event 812, 12.40 s ago; the run has continued since then.",
  );
});

const OUTDATED = {
  held: HELD,
  id: "pod/a/b",
  pod: {queue: "unschedulable"},
  place: {seq: 9, past: false},
  playing: false,
  sinceAnswer: 100,
};

test("an outdated answer is refreshed at rest", () => {
  assert.equal(askAgainIn(OUTDATED), 700);
  assert.equal(askAgainIn({...OUTDATED, place: {seq: 7, past: false}}), null);
  assert.equal(askAgainIn({...OUTDATED, place: {seq: 6, past: true}}), null);
  assert.equal(askAgainIn({...OUTDATED, pod: {node: "n1"}}), null);
  assert.equal(askAgainIn({...OUTDATED, held: {...HELD, status: "loading"}}), null);
  assert.equal(askAgainIn({...OUTDATED, held: null}), null);
});

test("while a run plays it is asked again every ten seconds", () => {
  assert.equal(askAgainIn({...OUTDATED, playing: true}), 9900);
  assert.equal(askAgainIn({...OUTDATED, playing: true, sinceAnswer: 60_000}), 700);
});
