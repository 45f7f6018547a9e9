import assert from "node:assert/strict";
import {test} from "node:test";

import {signal} from "@preact/signals";

import {Chosen} from "../../../static/js/controllers/chosen.js";
import {RunModel} from "../../../static/js/model/run_model.js";

const BOUND = {phase: "Bound", volume: "pv"};

/** A board with this state, which can be changed, and what is chosen on it. */
function setUp(state, address = {}) {
  const model = new RunModel();
  model.reset({seq: 1, at: 0, state, events: []});
  const tick = signal(0);
  const selection = {claim: signal(address.claim ?? null), volume: signal(address.volume ?? null)};
  const session = {
    selection,
    get model() {
      void tick.value;
      return model;
    },
    select({claim, volume}) {
      [selection.claim.value, selection.volume.value] = [claim, volume];
    },
  };
  const chosen = new Chosen(session);
  const change = (changes) => {
    model.apply({first: model.seq + 1, last: model.seq + 1, at: 1, changes, events: []});
    tick.value += 1;
  };
  return {chosen, change, selection, ids: () => [chosen.claim, chosen.volume, chosen.pod].map(({id}) => id.value)};
}

test("a claim's volume and pod are followed", () => {
  const state = {"claim/a/data": BOUND, "volume/pv": {phase: "Bound", claim: "a/data"}, "pod/a/db": {claims: ["data"]}};
  const {chosen, ids, selection} = setUp(state, {claim: "claim/a/data"});
  assert.deepEqual(ids(), ["claim/a/data", "volume/pv", "pod/a/db"]);
  assert.equal(chosen.binding().state, "bound");
  chosen.pick("volume/pv");
  assert.deepEqual(ids(), ["claim/a/data", "volume/pv", "pod/a/db"]);
  assert.deepEqual([selection.claim.value, selection.volume.value], [null, "volume/pv"]);
});

test("a deleted volume is known by its claim", () => {
  const {ids} = setUp({"claim/a/data": {phase: "Lost", volume: "pv"}}, {volume: "volume/pv"});
  assert.deepEqual(ids(), ["claim/a/data", "volume/pv", null]);
});

test("the default claim stays until bound", () => {
  const {chosen, change} = setUp({"claim/a/z": {phase: "Pending"}, "volume/pv": {phase: "Available"}});
  assert.equal(chosen.id.value, "claim/a/z");
  change({"claim/a/b": {phase: "Pending"}});
  assert.equal(chosen.id.value, "claim/a/z");
  change({"claim/a/z": BOUND, "volume/pv": {phase: "Bound", claim: "a/z"}});
  assert.equal(chosen.id.value, "claim/a/b");
});

test("without claims it is a volume, without either nothing", () => {
  const {chosen, change} = setUp({"volume/pv": {phase: "Available"}});
  assert.equal(chosen.id.value, "volume/pv");
  change({"volume/pv": null});
  assert.equal(chosen.id.value, null);
});
