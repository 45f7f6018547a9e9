import assert from "node:assert/strict";
import {test} from "node:test";

import {askedWords, nearestOf, questionOf, verdictLook} from "../../../static/js/model/candidates.js";

const NODES = new Map([
  ["node/n1", {}],
  ["node/n2", {}],
]);
const PENDING = {
  claim: {phase: "Pending"},
  claimId: "claim/shop/data",
  claimKey: "shop/data",
  volumeId: null,
  users: [],
  events: [],
  state: "pending",
};

test("an unbound claim is judged for the closest node", () => {
  const users = [["pod/shop/db", {blocker: {node: "n2"}}]];
  assert.deepEqual(questionOf({...PENDING, users}, NODES), {
    of: "claim/shop/data",
    path: "claims/shop/data/candidates/",
    node: "n2",
    seq: null,
  });
  assert.equal(questionOf({...PENDING, users: [["pod/shop/db", {node: "gone"}]]}, NODES).node, "");
  assert.equal(questionOf({...PENDING, claim: undefined}, NODES), null);
});

test("a bound claim is judged just before binding", () => {
  const chose = {kind: "VolumePreBound", object: "volume/pv", seq: 7, message: "claimRef names shop/data"};
  const bound = {...PENDING, volumeId: "volume/pv", state: "bound", events: [chose]};
  assert.equal(questionOf(bound, NODES).seq, 6);
  const made = [
    {kind: "ClaimNodeSelected", object: "claim/shop/data", seq: 4},
    {kind: "VolumeProvisioned", object: "volume/pv", seq: 9},
  ];
  assert.equal(questionOf({...bound, events: made}, NODES).seq, 3);
  assert.equal(questionOf({...bound, events: []}, NODES).seq, null);
});

test("what comes closest is named only when nothing fits", () => {
  const candidates = [{volume: "pv-1", text: "1Gi is 1Gi too small"}];
  assert.equal(nearestOf({fits: 0, chosen: "", candidates}).volume, "pv-1");
  assert.equal(nearestOf({fits: 1, chosen: "pv-1", candidates}), null);
  assert.equal(nearestOf(undefined), null);
});

test("who asks, and for which node, is said", () => {
  const answer = {asker: "scheduler", node: "n1", delayed: true, fits: 2, volumes: 9};
  assert.equal(askedWords(answer), "as the scheduler checks for n1 · 2 of 9 fit · in matching order");
  assert.match(
    askedWords({...answer, asker: "pv-controller", node: ""}),
    /^as the PV controller matches, no node to check yet/,
  );
});

test("while nothing is taken the best is not yet chosen", () => {
  assert.equal(verdictLook("chosen")[2], "Chosen");
  assert.equal(verdictLook("chosen", true)[2], "Best");
  assert.equal(verdictLook("claimed")[2], "Taken");
});

test("an unclaimed volume asks for fitting claims", () => {
  const free = {...PENDING, claim: undefined, volume: {phase: "Available"}, volumeId: "volume/pv", volumeName: "pv"};
  assert.deepEqual(questionOf(free, NODES), {of: "volume/pv", path: "volumes/pv/claimants/", seq: null});
  assert.equal(askedWords({claims: 3, fits: 1}), "ignoring node affinity · fits 1 of 3 claims");
});
