import assert from "node:assert/strict";
import {test} from "node:test";

import {writesOf} from "../../../../static/js/model/volumes/bind_writes.js";
import {bindingOf, mergedUpTo} from "../../../../static/js/model/volumes/binding.js";
import {stepsOf} from "../../../../static/js/model/volumes/binding_steps.js";
import {claimAnswer} from "../../../../static/js/model/volumes/claim_answer.js";
import {volumeAnswer} from "../../../../static/js/model/volumes/volume_answer.js";

const CLAIM = "claim/shop/data";
const VOLUME = "volume/pv";
const GI = 2 ** 30;
const SECOND = 1e9;

function event(seq, kind, object, changes, message = "") {
  return {seq, at: seq * SECOND, kind, object, component: "pv-controller", message, changes};
}

const EVENTS = [
  event(1, "VolumeCreated", VOLUME, {[VOLUME]: {phase: "Available", capacity: 5 * GI}}),
  event(2, "ClaimCreated", CLAIM, {[CLAIM]: {phase: "Pending", request: 2 * GI}}),
  event(3, "VolumePreBound", VOLUME, {[VOLUME]: {claim: "shop/data"}}),
  event(4, "VolumeBound", VOLUME, {[VOLUME]: {phase: "Bound"}}),
  event(5, "WriteRefused", CLAIM, null, "a write of pv-controller was refused: conflict"),
  event(6, "ClaimBindCompleted", CLAIM, {[CLAIM]: {volume: "pv", completed: true}}),
  event(7, "ClaimBound", CLAIM, {[CLAIM]: {phase: "Bound"}}),
];

/** The binding after event `seq` of EVENTS and `more` of them. */
function after(seq, more = [], users = []) {
  const events = mergedUpTo(seq, EVENTS, more);
  const entities = {};
  for (const {changes} of events) {
    for (const [id, patch] of Object.entries(changes ?? {})) entities[id] = patch && {...entities[id], ...patch};
  }
  const volume = entities[VOLUME] ?? undefined;
  return bindingOf({
    claimId: CLAIM,
    claim: entities[CLAIM] ?? undefined,
    volumeId: VOLUME,
    volume,
    events,
    users,
    model: {entities: new Map([["node/n1", {ready: true}]])},
    holder: volume?.claim ? "pv" : null,
    mode: "Immediate",
    storageClass: undefined,
    at: seq * SECOND,
  });
}

test("the writes of a bind are listed in order", () => {
  const rows = (seq) => writesOf(after(seq)).map(({name, status, seq: when}) => [name, status, when]);
  assert.deepEqual(rows(5), [
    ["PV write", "done", 3],
    ["PV status", "done", 4],
    ["PVC write", "now fail", 5],
    ["PVC write", "todo", undefined],
    ["PVC status", "todo", undefined],
  ]);
  assert.deepEqual(
    rows(7).map(([, , seq]) => seq),
    [3, 4, 5, 6, 7],
  );
});

test("each step has its time once it is done", () => {
  const steps = (seq) => stepsOf(after(seq)).map(({name, status, seq: when}) => [name, status, when]);
  assert.deepEqual(steps(4), [
    ["Provision", "done", 3],
    ["Bind", "now", undefined],
    ["Use", "todo", undefined],
    ["Reclaim", "todo", undefined],
  ]);
  assert.deepEqual(steps(7)[1], ["Bind", "done", 7]);
  assert.equal(stepsOf(after(5))[1].what, "2 of 4 writes done, two on each object");
});

test("a claim that is not created yet has no steps", () => {
  assert.deepEqual(stepsOf({...after(0), volumeId: null, volumeName: null}), []);
  assert.deepEqual(stepsOf(after(0)), []);
});

test("a deleted claim without a volume only says that it was deleted", () => {
  const gone = event(3, "ClaimDeleted", CLAIM, {[CLAIM]: null});
  const events = [...EVENTS.slice(1, 2), gone];
  const steps = stepsOf({...after(0), events, volumeId: null, volumeName: null});
  assert.deepEqual(
    steps.map(({name, what}) => [name, what]),
    [["Bind", "shop/data was deleted"]],
  );
});

test("the pod's events date the volume's use", () => {
  const id = "pod/shop/db";
  const pod = event(9, "PodRunning", id, {[id]: {phase: "Running"}});
  const use = stepsOf(after(9, [pod], [[id, {node: "n1", phase: "Running"}]]))[2];
  assert.deepEqual([use.what, use.status, use.seq], ["db runs on n1", "done", 9]);
});

test("repeated attempts become one row", () => {
  const failed = [8, 9, 10].map((seq) => event(seq, "ProvisioningFailed", CLAIM, null, "no plugin"));
  const {parts} = stepsOf(after(10, failed))[0];
  assert.deepEqual(
    parts.map(({what, times, seq}) => [what, times, seq]),
    [["no plugin", 3, 10]],
  );
});

test("a half-bound claim names the missing write", () => {
  assert.equal(
    claimAnswer(after(4)).sentence,
    "pv is reserved for this claim, but the claim's volumeName is not set yet.",
  );
  const refused = claimAnswer({...after(5), at: 8 * SECOND});
  assert.equal(
    refused.sentence,
    "pv is reserved for this claim, but the claim's volumeName is not set yet: a write was rejected 3.00 s ago.",
  );
  assert.deepEqual(
    claimAnswer(after(6)).sentence,
    "shop/data and pv refer to each other, but the claim's phase is still Pending.",
  );
});

test("a reserved volume that is too small can grow", () => {
  const small = event(8, "VolumeUpdated", VOLUME, {[VOLUME]: {phase: "Available", capacity: GI, claim: "shop/data"}});
  const {figure, fixes} = claimAnswer({...after(2, []), volume: small.changes[VOLUME], holder: "pv", state: "half"});
  assert.deepEqual(figure, {value: "1 Gi", words: "too small: 1 Gi for a request of 2 Gi"});
  assert.deepEqual(fixes[0].patch, {spec: {capacity: {storage: String(2 * GI)}}});
});

test("a bound claim compares capacity and request", () => {
  assert.deepEqual(claimAnswer(after(7)).figure, {value: "5 Gi", words: "for a request of 2 Gi, 3 Gi more"});
});

test("a lost claim says when its volume was deleted", () => {
  const gone = [
    event(8, "VolumeDeleted", VOLUME, {[VOLUME]: null}),
    event(9, "ClaimLost", CLAIM, {[CLAIM]: {phase: "Lost"}}, "lost"),
  ];
  const binding = {...after(9, gone), at: 12 * SECOND};
  const answer = claimAnswer(binding);
  assert.equal(answer.sentence, "Lost: its volume pv was deleted at 8.000 s.");
  assert.deepEqual(answer.figure, {value: "3.00 s", words: "since it became Lost"});
  const [, bind, , reclaim] = stepsOf(binding);
  assert.deepEqual([bind.mark, bind.seq, reclaim.what], ["lost", 9, "pv was deleted"]);
});

test("a deleted volume leaves its claim not Lost yet", () => {
  const binding = after(8, [event(8, "VolumeDeleted", VOLUME, {[VOLUME]: null})]);
  assert.equal(claimAnswer(binding).sentence, "Its volume pv was deleted; the claim is not marked Lost yet.");
  assert.deepEqual(writesOf(binding).at(-1).name, "PV deleted");
});

test("half-bound counts from the first reference", () => {
  assert.deepEqual(claimAnswer(after(5)).figure, {value: "2.00 s", words: "half-bound"});
});

test("an unbound claim names the closest volume", () => {
  const binding = {
    ...after(2),
    volumeId: null,
    volume: undefined,
    volumeName: null,
    claim: {phase: "Pending", class: "ssd"},
    storageClass: {},
  };
  assert.equal(
    claimAnswer({...binding, state: "pending"}, {volume: "pv-1", text: "1Gi is 1Gi too small"}).sentence,
    "No volume fits; the closest is pv-1: 1Gi is 1Gi too small.",
  );
});

test("a volume names its possible or former claims", () => {
  const binding = (volume) => ({...after(1), claim: undefined, claimId: null, claimKey: volume.claim, volume});
  assert.equal(
    volumeAnswer(binding({phase: "Available", class: "ssd", capacity: GI})).sentence,
    "Available: any claim of class ssd that requests at most 1 Gi can bind to it.",
  );
  const released = volumeAnswer(binding({phase: "Released", reclaim: "Retain", claim: "shop/data"}));
  assert.match(released.sentence, /^Released: its claim shop\/data was deleted; the volume keeps/);
  assert.deepEqual(released.fixes[0].patch, {spec: {claimRef: null}});
});
