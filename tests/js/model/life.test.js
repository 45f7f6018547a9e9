import assert from "node:assert/strict";
import {test} from "node:test";

import {axisOf, lifeOf, placeOn, spent} from "../../../static/js/model/life.js";

const ID = "pod/shop/web-1";
const SECOND = 1e9;

/** Events of the pod, one second after the other: each a patch on what is shown of it. */
function eventsOf(...patches) {
  return patches.map((patch, i) => ({seq: i + 1, at: i * SECOND, changes: {[ID]: patch}}));
}

const lane = (life, key) => life.lanes.find((each) => each.key === key);

const STORY = eventsOf(
  {phase: "Pending"},
  {queue: "active"},
  {queue: "in_flight", attempts: 1},
  {queue: "unschedulable"},
  {nominated: "n2"},
  {queue: "backoff", queue_since: 5 * SECOND, backoff_until: 6 * SECOND},
  {queue: "in_flight", attempts: 2, backoff_until: null},
  {queue: null, assumed: "n2"},
  {node: "n2"},
  {phase: "Running"},
);

test("a pod goes through its lanes one after the other", () => {
  const life = lifeOf(ID, STORY, 10);
  assert.deepEqual(
    lane(life, "attempt").slices.map(({from, to}) => [from, to]),
    [
      [2 * SECOND, 3 * SECOND],
      [6 * SECOND, 7 * SECOND],
    ],
  );
  assert.equal(lane(life, "unschedulable").slices[0].label, "since attempt 1");
  assert.equal(lane(life, "backoff").slices[0].label, "1.00 s");
  assert.equal(lane(life, "nominated").slices[0].to, 8 * SECOND);
  assert.equal(lane(life, "running").slices[0].to, null);
});

test("what comes after the event shown has not happened yet", () => {
  const life = lifeOf(ID, STORY, 4);
  assert.equal(lane(life, "unschedulable").slices[0].to, null);
  assert.equal(lane(life, "running").slices.length, 0);
  assert.equal(spent(lane(life, "running"), 4 * SECOND), "not reached");
  assert.equal(spent(lane(life, "unschedulable"), 4 * SECOND), "1.00 s (1×)");
});

test("a binding that did not end on the node has failed", () => {
  const life = lifeOf(
    ID,
    eventsOf({queue: "in_flight"}, {queue: null, assumed: "n1"}, {assumed: null, queue: "backoff"}),
    3,
  );
  assert.deepEqual(
    lane(life, "binding").slices.map(({failed}) => failed),
    [true],
  );
  assert.equal(lane(lifeOf(ID, STORY, 10), "binding").slices[0].failed, false);
});

test("rare lanes are hidden while empty", () => {
  assert.equal(lane(lifeOf(ID, STORY, 10), "gated"), undefined);
  assert.equal(lane(lifeOf(ID, eventsOf({queue: "gated"}), 1), "gated").slices.length, 1);
});

test("a pod that is deleted leaves every lane", () => {
  const life = lifeOf(ID, eventsOf({phase: "Running", node: "n1"}, {deleting: 30}, null), 3);
  assert.deepEqual(
    lane(life, "ending").slices.map(({from, to}) => [from, to]),
    [[SECOND, 2 * SECOND]],
  );
});

test("events of others say nothing about the pod", () => {
  const life = lifeOf(
    ID,
    [
      {seq: 1, at: 5, changes: {"node/n1": {ready: true}}},
      {seq: 2, at: 6, changes: null},
    ],
    2,
  );
  assert.equal(life.from, null);
});

test("a long-running pod keeps its start visible", () => {
  const life = lifeOf(ID, STORY, 10);
  assert.deepEqual(axisOf(life, 3600 * SECOND), {from: 0, to: 9 * SECOND * 1.25});
  assert.deepEqual(axisOf(lifeOf(ID, STORY, 4), 4 * SECOND), {from: 0, to: 4 * SECOND});
});

test("an initial pod is drawn until now", () => {
  const life = lifeOf(ID, eventsOf({phase: "Running", node: "n1"}), 1);
  assert.deepEqual(axisOf(life, 77.8 * SECOND), {from: 0, to: 77.8 * SECOND});
});

test("a slice stands where its part of the axis is", () => {
  const axis = {from: 0, to: 10};
  assert.deepEqual(placeOn(axis, {from: 5, to: null}, 10), {left: 0.5, width: 0.5});
  assert.equal(placeOn(axis, {from: 11, to: 12}, 20), null);
});
