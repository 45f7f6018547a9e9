import assert from "node:assert/strict";
import {test} from "node:test";

import {Replay} from "../../../../static/js/model/home/replay.js";

const [GONE, ACTIVE, ATTEMPT, BINDING, STARTING, RUNNING, PARKED] = [0, 1, 2, 3, 4, 5, 6];
const TOLD = {
  end: 9000,
  states: ["", "active", "attempt", "binding", "starting", "running", "unschedulable"],
  nodes: [
    ["node-1", 0, null],
    ["node-2", 4000, 8000],
  ],
  pods: [
    [
      "shop/web",
      ...[ACTIVE, 1000, 3, -1],
      ...[ATTEMPT, 1002, 4, -1],
      ...[BINDING, 1004, 5, 0],
      ...[STARTING, 1009, 6, 0],
      ...[RUNNING, 2000, 7, 0],
      ...[GONE, 7000, 9, -1],
    ],
    ["shop/big", ...[PARKED, 3000, 8, -1]],
  ],
  attempts: [
    [1002, 5, 0, 0, "+.", [412], ""],
    [3000, 8, 1, -1, "-.", [], ""],
    [9000, 9, 1, -1, "..", [], 'persistentvolumeclaim "data" not found'],
  ],
};
const at = (time) => new Replay(TOLD).at(time);
const pod = (time, name = "shop/web") => at(time).pods.find((each) => each.name === name);

test("a pod is in the lane of its state", () => {
  assert.equal(pod(999), undefined);
  assert.equal(pod(1000).lane, "active");
  assert.equal(pod(1003).lane, "active");
  assert.deepEqual(pod(2500), {name: "shop/web", state: "running", lane: "running", node: 0, seq: 7});
  assert.equal(pod(4000, "shop/big").lane, "unschedulable");
  assert.equal(pod(7000), undefined);
});

test("a binding of milliseconds stays in sight", () => {
  assert.equal(pod(1005).lane, "binding");
  assert.equal(pod(1300).lane, "binding");
  assert.equal(pod(1460).state, "starting");
});

test("a node is there from when it joins until it is deleted", () => {
  assert.deepEqual(
    [3999, 4000, 7999, 8000].map((time) => at(time).nodes[1].isThere),
    [false, true, true, false],
  );
  assert.equal(at(9000).nodes[0].isThere, true);
});

test("the newest attempt is shown until there is another", () => {
  assert.equal(at(900).attempt, null);
  assert.deepEqual(at(2999).attempt, {
    pod: "shop/web",
    seq: 5,
    node: "node-1",
    cells: [true, null],
    fit: 1,
    of: 1,
    scores: [412],
    refused: "",
  });
  assert.deepEqual(at(8999).attempt, {
    pod: "shop/big",
    seq: 8,
    node: null,
    cells: [false, null],
    fit: 0,
    of: 1,
    scores: [],
    refused: "",
  });
});

test("a refusal of PreFilter is said instead of nodes", () => {
  const {refused, of} = at(9000).attempt;
  assert.deepEqual({refused, of}, {refused: 'persistentvolumeclaim "data" not found', of: 0});
});
