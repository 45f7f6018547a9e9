import assert from "node:assert/strict";
import {readFileSync} from "node:fs";
import {test} from "node:test";

import {RunModel} from "../../../../static/js/model/run/run_model.js";
import {heldIds, supersededWords} from "../../../../static/js/model/run/superseded.js";

const STATE = {
  "node/n1": {ready: true},
  "pod/shop/a": {node: "n1", phase: "Running"},
  "pod/shop/b": {queue: "unschedulable"},
  "claim/shop/c": {phase: "Pending"},
};
const IDS = heldIds({pods: ["shop/a", "shop/b", "shop/gone"], claims: ["shop/c"], nodes: ["n1"]});

function modelAt(at) {
  const model = new RunModel();
  model.reset({seq: 1, at, events: [], state: STATE});
  return model;
}

test("a cause is marked where its objects went on", () => {
  assert.equal(
    supersededWords(IDS, modelAt(60e9)),
    "superseded in this run at 60.00 s: 1 of 3 pods goes on, 1 of 3 pods is gone; 1 of 1 node goes on",
  );
});

test("nothing is superseded before the run is played", () => {
  assert.equal(supersededWords(IDS, modelAt(0)), "");
});

test("a cause whose objects still wait has no mark", () => {
  assert.equal(supersededWords(["pod/shop/b", "claim/shop/c"], modelAt(60e9)), "");
});

// REST says the same words of the same states: tests/engine/diagnosis/triage/test_superseded.py.
const CASES = JSON.parse(readFileSync(new URL("../../../data/superseded.json", import.meta.url), "utf8"));

for (const {name, at, state, text, pods = [], claims = [], nodes = []} of CASES)
  test(`page and REST agree on a mark: ${name}`, () => {
    const model = new RunModel();
    model.reset({seq: 1, at, events: [], state});
    assert.equal(supersededWords(heldIds({pods, claims, nodes}), model), text);
  });
