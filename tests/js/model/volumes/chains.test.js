import assert from "node:assert/strict";
import {test} from "node:test";

import {RunModel} from "../../../../static/js/model/run/run_model.js";
import {chainOf, placeOf, spans} from "../../../../static/js/model/volumes/chains.js";
import {allChains} from "./all_chains.js";

/** The chains of a state. */
const chainsOf = (state) => allChains(modelOf(state));

function modelOf(state) {
  const model = new RunModel();
  model.reset({seq: 1, at: 0, state, events: []});
  return model;
}

/** [what the chain is of, kind, link, what is said in an empty place] of the only one. */
function only(state) {
  const [{claimId, volumeId, kind, link, claimGhost, volumeGhost}, ...rest] = chainsOf(state);
  assert.equal(rest.length, 0);
  return [claimId, volumeId, kind, link, claimGhost || volumeGhost];
}

const CLAIM = "claim/shop/data";
const bound = {
  [CLAIM]: {phase: "Bound", volume: "pv", completed: true, class: "ssd"},
  "volume/pv": {phase: "Bound", claim: "shop/data", class: "ssd"},
};

test("a claim and its volume are one chain", () => {
  assert.deepEqual(only(bound), [CLAIM, "volume/pv", "bound", "bound", ""]);
});

test("a half-bound chain shows which reference is set", () => {
  const pending = {phase: "Pending", class: "ssd"};
  const named = {...bound, [CLAIM]: pending};
  assert.deepEqual(only(named).slice(2, 4), ["unbound", "right"]);
  const naming = {[CLAIM]: {...pending, volume: "pv"}, "volume/pv": {phase: "Available"}};
  assert.deepEqual(only(naming).slice(2, 4), ["unbound", "left"]);
  assert.deepEqual(only({...bound, [CLAIM]: {...pending, volume: "pv"}}).slice(2, 4), ["unbound", "both"]);
  assert.deepEqual(only({[CLAIM]: {...pending, volume: "pv"}}), [CLAIM, null, "unbound", "left", "pv does not exist"]);
});

test("a chain with a deleted volume is broken", () => {
  const lost = {[CLAIM]: {phase: "Lost", volume: "pv", completed: true}};
  assert.deepEqual(only(lost), [CLAIM, null, "broken", "broken", "pv was deleted"]);
  assert.deepEqual(only({[CLAIM]: bound[CLAIM]}).slice(2), ["broken", "broken", "pv was deleted"]);
  const taken = {...lost, "volume/pv": {phase: "Bound", claim: "shop/other"}};
  assert.deepEqual(only(taken).slice(1, 4), ["volume/pv", "broken", "broken"]);
});

test("a volume without its claim says so", () => {
  const left = (phase) => only({"volume/pv": {phase, claim: "shop/data"}}).slice(2);
  assert.deepEqual(left("Released"), ["broken", "broken", "shop/data was deleted"]);
  assert.deepEqual(left("Failed"), ["broken", "broken", "shop/data was deleted"]);
  assert.deepEqual(left("Available"), ["unbound", "right", "shop/data does not exist yet"]);
});

test("a new claim does not get a released volume", () => {
  const state = {
    [CLAIM]: {phase: "Pending", class: "ssd"},
    "volume/pv": {phase: "Released", claim: "shop/data", class: "ssd"},
  };
  assert.deepEqual(
    chainsOf(state).map(({link, claimGhost, volumeGhost}) => [link, claimGhost || volumeGhost]),
    [
      ["waits", "no volume fits yet"],
      ["broken", "an earlier shop/data"],
    ],
  );
});

test("an unbound chain says what it waits for", () => {
  const late = {"class/ssd": {binding_mode: "WaitForFirstConsumer"}};
  const waiting = (claim) => only({...late, [CLAIM]: {phase: "Pending", class: "ssd", ...claim}}).slice(3);
  assert.deepEqual(waiting({}), ["waits", "waits for its first consumer"]);
  assert.deepEqual(waiting({selected_node: "n1"}), ["waits", "provisioning for n1"]);
});

test("an object that is gone has no chain", () => {
  const {claims, entities} = modelOf(bound);
  assert.equal(chainOf("claim/shop/gone", claims, entities), null);
  assert.equal(chainOf(CLAIM, claims, entities).key, CLAIM);
});

test("rows of a class share its box", () => {
  const of = (...names) => names.map((className) => ({className}));
  assert.deepEqual(spans(of("a", "b", "b", "", "")), [1, 2, 0, 2, 0]);
});

test("a chain's node is its pod's or its volume's", () => {
  assert.equal(placeOf({node: "n1"}, {words: "bound to n1"}, {}, {affinity: "zone In a"}).words, "bound to n1");
  assert.equal(placeOf({nominated: "n2"}, {}, {}, {}).name, "n2");
  assert.deepEqual(
    [placeOf(undefined, null, undefined, {affinity: "zone In a"}).name, placeOf({}, {}, {}, undefined)],
    ["zone In a", null],
  );
  assert.equal(placeOf(undefined, null, {}, {affinity: "hostname In n1"}).name, "n1");
  assert.equal(placeOf(undefined, null, {}, {affinity: "hostname In n1/n2"}).name, "hostname In n1/n2");
});
