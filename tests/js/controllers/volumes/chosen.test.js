import assert from "node:assert/strict";
import {test} from "node:test";

import {signal} from "@preact/signals";

import {Chosen} from "../../../../static/js/controllers/volumes/chosen.js";
import {RunModel} from "../../../../static/js/model/run/run_model.js";

const BOUND = {phase: "Bound", volume: "pv"};

/** A board with this state, which can be changed, and what is chosen on it. No events are read unless `api` answers. */
function setUp(state, address = {}, api = null) {
  const model = new RunModel();
  model.reset({seq: 1, at: 0, state, events: []});
  const tick = signal(0);
  const selection = {claim: signal(address.claim ?? null), volume: signal(address.volume ?? null)};
  const session = {
    api,
    selection,
    get model() {
      void tick.value;
      return model;
    },
    spokenOf: () => null,
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

/** Until answers that are there have been taken. */
function answered() {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

test("a claim determines its volume and its pod", () => {
  const state = {"claim/a/data": BOUND, "volume/pv": {phase: "Bound", claim: "a/data"}, "pod/a/db": {claims: ["data"]}};
  const {chosen, ids, selection} = setUp(state, {claim: "claim/a/data"});
  assert.deepEqual(ids(), ["claim/a/data", "volume/pv", "pod/a/db"]);
  assert.equal(chosen.binding().state, "bound");
  chosen.pick("volume/pv");
  assert.deepEqual(ids(), ["claim/a/data", "volume/pv", "pod/a/db"]);
  assert.deepEqual([selection.claim.value, selection.volume.value], [null, "volume/pv"]);
});

test("a claim still names its deleted volume", () => {
  const {ids} = setUp({"claim/a/data": {phase: "Lost", volume: "pv"}}, {volume: "volume/pv"});
  assert.deepEqual(ids(), ["claim/a/data", "volume/pv", null]);
});

test("the default claim stays until it is bound", () => {
  const {chosen, change} = setUp({"claim/a/z": {phase: "Pending"}, "volume/pv": {phase: "Available"}});
  assert.equal(chosen.id.value, "claim/a/z");
  change({"claim/a/b": {phase: "Pending"}});
  assert.equal(chosen.id.value, "claim/a/z");
  change({"claim/a/z": BOUND, "volume/pv": {phase: "Bound", claim: "a/z"}});
  assert.equal(chosen.id.value, "claim/a/b");
});

test("without claims a volume is selected", () => {
  const {chosen, change} = setUp({"volume/pv": {phase: "Available"}});
  assert.equal(chosen.id.value, "volume/pv");
  change({"volume/pv": null});
  assert.equal(chosen.id.value, null);
});

test("a binding is shown once the events of all its objects were read", async ({mock}) => {
  mock.timers.enable({apis: ["setTimeout"]});
  const held = [];
  const api = {get: () => new Promise((resolve) => held.push(() => resolve({items: [], continue: null})))};
  const state = {
    "claim/a/data": BOUND,
    "volume/pv": {phase: "Bound", claim: "a/data"},
    "claim/a/new": {phase: "Pending"},
  };
  const {chosen} = setUp(state, {claim: "claim/a/data"}, api);
  const answer = async (count) => {
    mock.timers.tick(200);
    for (const one of held.splice(0, count)) one();
    await answered();
  };
  chosen.start();
  await answer(1);
  assert.equal(chosen.isOpen.value, false);
  await answer(1);
  assert.equal(chosen.isOpen.value, true);
  chosen.pick("claim/a/new");
  assert.equal(chosen.isOpen.value, false);
  await answer(1);
  assert.equal(chosen.isOpen.value, true);
});

test("a volume whose claim becomes known later is shown once the events of both were read", async ({mock}) => {
  mock.timers.enable({apis: ["setTimeout"]});
  const api = {get: async () => ({items: [], continue: null})};
  const {chosen, change} = setUp({}, {volume: "volume/pv"}, api);
  chosen.start();
  change({"volume/pv": {phase: "Released", claim: "a/data"}});
  assert.equal(chosen.isOpen.value, false);
  mock.timers.tick(200);
  await answered();
  assert.equal(chosen.isOpen.value, true);
});
