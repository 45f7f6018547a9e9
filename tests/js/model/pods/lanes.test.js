import assert from "node:assert/strict";
import {test} from "node:test";

import {DRAWN, LANES, Lanes, backoffLeft} from "../../../../static/js/model/pods/lanes.js";

const id = (name) => `pod/shop/${name}`;
const names = (lanes, lane, limit) => lanes.first(lane, limit).map(([each]) => each.split("/").pop());

function lanesOf(pods) {
  const lanes = new Lanes();
  for (const [name, pod] of Object.entries(pods)) lanes.update(id(name), undefined, pod);
  return lanes;
}

test("active pods are ordered by priority, then time", () => {
  const lanes = lanesOf({
    late: {queue: "active", priority: 500, queue_since: 9},
    low: {queue: "active", queue_since: 1},
    high: {queue: "active", priority: 2000, queue_since: 10},
    early: {queue: "active", priority: 500, queue_since: 3},
  });
  assert.deepEqual(names(lanes, "active"), ["high", "early", "late", "low"]);
});

test("pods in backoff are ordered by its end", () => {
  const lanes = lanesOf({
    b: {queue: "backoff", backoff_until: 20},
    a: {queue: "backoff", backoff_until: 30},
    c: {queue: "backoff", backoff_until: 10},
  });
  assert.deepEqual(names(lanes, "backoff"), ["c", "b", "a"]);
});

test("the longest waiting unschedulable pod comes first", () => {
  const lanes = lanesOf({
    new: {queue: "unschedulable", queue_since: 50},
    old: {queue: "unschedulable", queue_since: 5},
  });
  assert.deepEqual(names(lanes, "unschedulable"), ["old", "new"]);
});

test("a pod is in one lane until bound", () => {
  const waiting = {queue: "active"};
  const flying = {queue: "in_flight"};
  const lanes = lanesOf({web: waiting});
  lanes.update(id("web"), waiting, flying);
  assert.deepEqual(
    LANES.map((lane) => lanes.size(lane)),
    [1, 0, 0, 0, 0, 0],
  );
  lanes.update(id("web"), flying, {node: "n1"});
  assert.deepEqual(
    LANES.map((lane) => lanes.size(lane)),
    [0, 0, 0, 0, 0, 0],
  );
});

test("pods without a scheduler are in a lane", () => {
  const lanes = lanesOf({
    left: {queue: null, created: 2},
    unknown: {scheduler: "other", created: 1},
    assumed: {assumed: "n1"},
    bound: {node: "n1"},
    leaving: {deleting: 5},
    ended: {phase: "Failed"},
  });
  assert.deepEqual(names(lanes, "unqueued"), ["unknown", "left"]);
});

test("a long lane shows its first pods only", () => {
  // A linear congruence: many pods in an order that has nothing to do with theirs.
  const random = (i) => (i * 7919 + 13) % 10007;
  const lanes = new Lanes();
  const pods = new Map();
  const put = (i) => {
    const pod = {queue: "active", priority: random(i) % 50, queue_since: random(i)};
    lanes.update(id(i), pods.get(i), pod);
    pods.set(i, pod);
  };
  const drop = (i) => {
    lanes.update(id(i), pods.get(i), {node: "n1"});
    pods.delete(i);
  };
  const expected = () =>
    [...pods]
      .sort(([i, a], [j, b]) => b.priority - a.priority || a.queue_since - b.queue_since || i - j)
      .slice(0, DRAWN)
      .map(([i]) => String(i));
  for (let i = 0; i < 5000; i += 1) put(i);
  assert.deepEqual(names(lanes, "active"), expected());
  for (let round = 0; round < 60; round += 1) {
    for (const name of names(lanes, "active", 20)) drop(Number(name));
    for (let i = 0; i < 5; i += 1) put(6000 + round * 5 + i);
    assert.deepEqual(names(lanes, "active"), expected(), `round ${round}`);
  }
});

test("remaining backoff is a share of all", () => {
  const pod = {queue_since: 10, backoff_until: 20};
  assert.equal(backoffLeft(pod, 10), 1);
  assert.equal(backoffLeft(pod, 15), 0.5);
  assert.equal(backoffLeft(pod, 25), 0);
  assert.equal(backoffLeft({}, 25), 0);
});

test("a pod that no scheduler queues has a lane", () => {
  const lanes = lanesOf({new: {created: 9}, old: {created: 1}, bound: {node: "n1"}, done: {phase: "Failed"}});
  assert.deepEqual(names(lanes, "unqueued"), ["old", "new"]);
});
