import assert from "node:assert/strict";
import {test} from "node:test";

import {
  answerFor,
  askAgainIn,
  causeLook,
  causesBeside,
  commandWords,
  fixCommands,
  fixParts,
  isAskable,
  isCurrent,
  isOfAskedKind,
  observedOf,
  proof,
  staleWords,
  triedWords,
} from "../../../../static/js/model/why/answer.js";

test("an existing object of a known kind is asked about", () => {
  const entities = new Map(["pod/a/b", "claim/a/c", "deployment/a/d", "class/fast"].map((id) => [id, {}]));
  assert.equal(isAskable("pod/a/b", entities), true);
  assert.equal(isAskable("claim/a/c", entities), true);
  assert.equal(isAskable("deployment/a/d", entities), true);
  assert.equal(isAskable("class/fast", entities), false);
  assert.equal(isAskable("node/gone", entities), false);
  assert.equal(isAskable(null, entities), false);
  assert.deepEqual(["node/gone", "class/fast", null].map(isOfAskedKind), [true, false, false]);
});

test("a cause about nodes says what it does to them", () => {
  assert.equal(causeLook({severity: "blocks", nodes: ["n1"]}).words, "excludes every node");
  assert.equal(causeLook({severity: "blocks", nodes: []}).words, "blocks it");
  assert.equal(causeLook({severity: "notes", nodes: ["n1"]}).words, "worth knowing");
});

test("a cause that only repeats the answer is not listed", () => {
  const cause = {sentence: "Secret s does not exist.", plugin: "", why: "", because: []};
  const facts = {...cause, because: [{text: "it is named"}]};
  const other = {...cause, sentence: "The node is full."};
  assert.deepEqual(causesBeside({sentence: cause.sentence, causes: [cause, facts, other]}), [facts, other]);
});

test("a fix has a change and an outcome", () => {
  const text = "Tolerate gpu=yes:NoSchedule: it is bound to n2 at 20.008 s.";
  assert.deepEqual(fixParts({text}), {
    order: "Tolerate gpu=yes:NoSchedule",
    outcome: "It is bound to n2 at 20.008 s.",
  });
  assert.deepEqual(fixParts({text: "Wait."}), {order: "Wait.", outcome: ""});
});

test("a pair of changes is sent as two commands", () => {
  const text = "Uncordon n, and ask for 4 cpu instead of 5: it is bound to n at 20.008 s.";
  assert.equal(fixParts({text}).order, "Uncordon n, and ask for 4 cpu instead of 5");
  const command = {verb: "uncordon", object: "node/n"};
  const then = {verb: "patch", object: "pod/default/p", patch: {}};
  assert.deepEqual(fixCommands({command, then}), [command, then]);
  assert.deepEqual(fixCommands({command, then: null}), [command]);
});

test("a fix names its kind of proof", () => {
  assert.equal(proof({shown: "fork"}).words, "verified in a fork");
  assert.equal(proof({shown: "decision"}).words, "scheduling decision only");
});

test("a command is named by verb and object", () => {
  assert.equal(commandWords({verb: "patch", object: "node/n2", patch: {}}), "patch node/n2");
  const pod = {kind: "Pod", metadata: {namespace: "shop", name: "web-3"}};
  assert.equal(commandWords({verb: "replace", manifest: pod}), "replace Pod shop/web-3");
  const node = {kind: "Node", metadata: {name: "n3"}};
  assert.equal(commandWords({verb: "create", manifest: node}), "create Node n3");
});

test("the title counts the changes tried", () => {
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

test("an answer is not shown at another event", () => {
  assert.equal(answerFor(HELD, "pod/a/b", {seq: 9, past: false}), HELD);
  assert.equal(answerFor(HELD, "pod/a/b", {seq: 7, past: true}), HELD);
  assert.equal(answerFor(HELD, "pod/a/b", {seq: 6, past: true}), null);
  assert.equal(answerFor(HELD, "pod/a/c", {seq: 7, past: false}), null);
  const loading = {id: "pod/a/b", seq: 6, status: "loading"};
  assert.equal(answerFor(loading, "pod/a/b", {seq: 6, past: true}), loading);
  assert.equal(answerFor(loading, "pod/a/b", {seq: 5, past: true}), null);
  assert.equal(answerFor(null, "pod/a/b", {seq: 7, past: false}), null);
});

test("a stale answer names its event", () => {
  assert.equal(
    staleWords({seq: 812, at: 50e9}, 62.4e9),
    "This answer is for event 812, 12.40 s ago; the run has continued since then.",
  );
});

const OUTDATED = {
  held: HELD,
  id: "pod/a/b",
  exists: true,
  place: {seq: 9, past: false},
  playing: false,
  sinceAnswer: 100,
};

test("a stale answer is asked again when paused", () => {
  assert.equal(askAgainIn(OUTDATED), 700);
  assert.equal(askAgainIn({...OUTDATED, place: {seq: 7, past: false}}), null);
  assert.equal(askAgainIn({...OUTDATED, place: {seq: 6, past: true}}), null);
  assert.equal(askAgainIn({...OUTDATED, exists: false}), null);
  assert.equal(askAgainIn({...OUTDATED, held: {...HELD, status: "loading"}}), null);
  assert.equal(askAgainIn({...OUTDATED, held: null}), null);
});

test("a playing run is asked every ten seconds", () => {
  assert.equal(askAgainIn({...OUTDATED, playing: true}), 9900);
  assert.equal(askAgainIn({...OUTDATED, playing: true, sinceAnswer: 60_000}), 700);
});

test("what was observed stands beside the prediction", () => {
  const told = {
    observed_facts: [{text: "phase Pending", at: "2026-11-27T10:00:00Z", source: "status.phase", superseded_by: null}],
    instant: "2026-11-27T10:00:00Z",
    sentence: "No node.",
    predicted: "No node.",
  };
  const known = observedOf({...told, contradiction: ""});
  assert.deepEqual(known.facts, [{text: "phase Pending", when: "status.phase, 2026-11-27T10:00:00Z", mark: ""}]);
  assert.equal(known.since, "in your files, as of 2026-11-27T10:00:00Z");
  assert.equal(known.predicted, "the same");
  assert.match(known.horizon, /^for the next minute/);
  assert.match(observedOf({...told, is_played: false}).horizon, /^as things are/);
  assert.match(observedOf({...told, observed_facts: []}).facts[0].text, /^nothing/);
  assert.equal(observedOf({sentence: "It runs."}), null);
});

test("a superseded fact stands with its mark", () => {
  const by = {t: 1_500_000_000, seq: 1045, text: "PodRunning: Running"};
  const fact = {text: "phase Pending", at: "", source: "status.phase", superseded_by: by};
  const [{text, mark}] = observedOf({observed_facts: [fact], sentence: "It runs."}).facts;
  assert.equal(text, "phase Pending");
  assert.equal(mark, "superseded at 1.500 s by event 1,045, PodRunning: Running");
});

test("a change for a group tells what it places and costs", () => {
  const change = {text: "Remove the taint", places: 8, of: 12, loses: "", shared: "others", commands: []};
  assert.deepEqual(fixParts(change), {order: "Remove the taint", outcome: "Places 8 of 12. Shared: others."});
  assert.deepEqual(fixCommands(change), []);
  assert.match(proof({shown: "decision", places: null}).words, /^not tried/);
});
