import assert from "node:assert/strict";
import {test} from "node:test";

import {bindingOf, claimAnswer, mergedUpTo, stepsOf, volumeAnswer, writesOf} from "../../../static/js/model/binding.js";

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
    holder: volume?.claim ? "pv" : null,
    mode: "Immediate",
    storageClass: undefined,
    at: seq * SECOND,
  });
}

test("every write of a bind is listed", () => {
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

test("the pod's own events tell since when the volume is used", () => {
  const id = "pod/shop/db";
  const pod = event(9, "PodRunning", id, {[id]: {phase: "Running"}});
  const use = stepsOf(after(9, [pod], [[id, {node: "n1", phase: "Running"}]]))[2];
  assert.deepEqual([use.what, use.status, use.seq], ["db runs on n1", "done", 9]);
});

test("tries of the same kind in a row are one line", () => {
  const failed = [8, 9, 10].map((seq) => event(seq, "ProvisioningFailed", CLAIM, null, "no plugin"));
  const {parts} = stepsOf(after(10, failed))[0];
  assert.deepEqual(
    parts.map(({what, times, seq}) => [what, times, seq]),
    [["no plugin", 3, 10]],
  );
});

test("a half-bound claim names its missing half", () => {
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

test("a reserved volume that is too small is offered", () => {
  const small = event(8, "VolumeUpdated", VOLUME, {[VOLUME]: {phase: "Available", capacity: GI, claim: "shop/data"}});
  const {figure, fixes} = claimAnswer({...after(2, []), volume: small.changes[VOLUME], holder: "pv", state: "half"});
  assert.deepEqual(figure, {value: "1 Gi", words: "too small: 1 Gi for a request of 2 Gi"});
  assert.deepEqual(fixes[0].patch, {spec: {capacity: {storage: String(2 * GI)}}});
});

test("a bound claim shows its surplus capacity", () => {
  assert.deepEqual(claimAnswer(after(7)).figure, {value: "5 Gi", words: "for a request of 2 Gi, 3 Gi more"});
});

test("a lost claim tells when its volume went", () => {
  const gone = [
    event(8, "VolumeDeleted", VOLUME, {[VOLUME]: null}),
    event(9, "ClaimLost", CLAIM, {[CLAIM]: {phase: "Lost"}}, "lost"),
  ];
  const binding = {...after(9, gone), at: 12 * SECOND};
  const answer = claimAnswer(binding);
  assert.equal(answer.sentence, "Lost: its volume pv was deleted at 8.000 s.");
  assert.deepEqual(answer.figure, {value: "3.00 s", words: "since it became Lost"});
  const [, bind, , reclaim] = stepsOf(binding);
  assert.deepEqual([bind.mark, bind.seq, reclaim.what], ["lost", 9, "pv is deleted"]);
});

test("a bound claim without its volume is forsaken", () => {
  const binding = after(8, [event(8, "VolumeDeleted", VOLUME, {[VOLUME]: null})]);
  assert.equal(claimAnswer(binding).sentence, "Its volume pv was deleted; the claim is not marked Lost yet.");
  assert.deepEqual(writesOf(binding).at(-1).name, "PV gone");
});

test("half-bound counts from when the one side was written", () => {
  assert.deepEqual(claimAnswer(after(5)).figure, {value: "2.00 s", words: "half-bound"});
});

test("an unbound claim names what comes closest", () => {
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

test("a volume tells who may claim it, or whose it was", () => {
  const binding = (volume) => ({...after(1), claim: undefined, claimId: null, claimKey: volume.claim, volume});
  assert.equal(
    volumeAnswer(binding({phase: "Available", class: "ssd", capacity: GI})).sentence,
    "Available: any claim of class ssd that requests at most 1 Gi can bind to it.",
  );
  const released = volumeAnswer(binding({phase: "Released", reclaim: "Retain", claim: "shop/data"}));
  assert.match(released.sentence, /^Released: its claim shop\/data was deleted; the volume keeps/);
  assert.deepEqual(released.fixes[0].patch, {spec: {claimRef: null}});
});
