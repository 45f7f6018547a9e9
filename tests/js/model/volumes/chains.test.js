import assert from "node:assert/strict";
import {test} from "node:test";

import {RunModel} from "../../../../static/js/model/run/run_model.js";
import {Chains, PAGE, placeOf, spans} from "../../../../static/js/model/volumes/chains.js";

const EVERYTHING = {kind: "", text: "", page: 0, id: null};

/** The chains of a state. */
function chainsOf(state) {
  const model = new RunModel();
  model.reset({seq: 1, at: 0, state, events: []});
  return new Chains().of(model.claims, model.entities);
}

/** [what the chain is of, kind, link, what is said in an empty place] of the only one. */
function only(state) {
  const [{claimId, volumeId, kind, link, claimGhost, volumeGhost}, ...rest] = chainsOf(state).list;
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
    chainsOf(state).list.map(({link, claimGhost, volumeGhost}) => [link, claimGhost || volumeGhost]),
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

test("chains are sorted by class and counted", () => {
  const chains = chainsOf({
    ...bound,
    "volume/free": {phase: "Available"},
    "volume/a": {phase: "Failed", claim: "shop/x", class: "nfs"},
  });
  assert.deepEqual(
    chains.list.map(({key}) => key),
    ["volume/a", CLAIM, "volume/free"],
  );
  assert.deepEqual(
    [...chains.counts],
    [
      ["", 3],
      ["unbound", 1],
      ["broken", 1],
    ],
  );
  assert.deepEqual(spans(chains.list.concat(chains.list.at(-1))), [1, 1, 2, 0]);
});

test("the first page shown has the chosen object", () => {
  const many = Object.fromEntries(
    Array.from({length: 2 * PAGE + 1}, (_, i) => [`volume/pv-${i}`, {phase: "Available"}]),
  );
  const chains = chainsOf(many);
  assert.equal(chains.page(EVERYTHING).rows.length, PAGE);
  const last = chains.page({...EVERYTHING, page: null, id: `volume/pv-${2 * PAGE}`});
  assert.deepEqual([last.page, last.pages, last.found, last.rows.length], [2, 3, 2 * PAGE + 1, 1]);
  assert.deepEqual(chains.page({...EVERYTHING, text: "PV-7", page: 9}).rows.map(({key}) => key)[0], "volume/pv-7");
  assert.equal(chains.page({...EVERYTHING, kind: "broken"}).found, 0);
});

test("chains are cached until bindings change", () => {
  const model = new RunModel();
  model.reset({seq: 1, at: 0, state: bound, events: []});
  const chains = new Chains();
  const before = chains.of(model.claims, model.entities).list;
  assert.equal(chains.of(model.claims, model.entities).list, before);
  model.apply({first: 2, last: 2, at: 1, changes: {"volume/pv": null}, events: []});
  assert.deepEqual(
    chains.of(model.claims, model.entities).list.map(({kind}) => kind),
    ["broken"],
  );
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
