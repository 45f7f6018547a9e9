import assert from "node:assert/strict";
import {test} from "node:test";

import {axisOf, lifeOf, placeOn, spent} from "../../../../static/js/model/pods/life.js";

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

test("a pod passes through its lanes in order", () => {
  const life = lifeOf(ID, STORY, 10);
  assert.deepEqual(
    lane(life, "in_flight").slices.map(({from, to}) => [from, to]),
    [
      [2 * SECOND, 3 * SECOND],
      [6 * SECOND, 7 * SECOND],
    ],
  );
  assert.equal(lane(life, "unschedulable").slices[0].label, "since attempt 1");
  assert.equal(lane(life, "backoff").slices[0].label, "up to 1.00 s");
  assert.equal(lane(life, "nominated").slices[0].to, 8 * SECOND);
  assert.equal(lane(life, "running").slices[0].to, null);
});

test("later events are ignored", () => {
  const life = lifeOf(ID, STORY, 4);
  assert.equal(lane(life, "unschedulable").slices[0].to, null);
  assert.equal(lane(life, "running").slices.length, 0);
  assert.equal(spent(lane(life, "running"), 4 * SECOND), "not reached");
  assert.equal(spent(lane(life, "unschedulable"), 4 * SECOND), "1.00 s (1×)");
});

test("a binding without a node has failed", () => {
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

test("a deleted pod leaves every lane", () => {
  const life = lifeOf(ID, eventsOf({phase: "Running", node: "n1"}, {deleting: 30}, null), 3);
  assert.deepEqual(
    lane(life, "ending").slices.map(({from, to}) => [from, to]),
    [[SECOND, 2 * SECOND]],
  );
});

test("events of other pods are ignored", () => {
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

test("a long run does not hide the start", () => {
  const life = lifeOf(ID, STORY, 10);
  assert.deepEqual(axisOf(life, 3600 * SECOND), {from: 0, to: 9 * SECOND * 1.25});
  assert.deepEqual(axisOf(lifeOf(ID, STORY, 4), 4 * SECOND), {from: 0, to: 4 * SECOND});
});

test("a pod running from the start is drawn whole", () => {
  const life = lifeOf(ID, eventsOf({phase: "Running", node: "n1"}), 1);
  assert.deepEqual(axisOf(life, 77.8 * SECOND), {from: 0, to: 77.8 * SECOND});
});

test("a slice is placed on its axis", () => {
  const axis = {from: 0, to: 10};
  assert.deepEqual(placeOn(axis, {from: 5, to: null}, 10), {left: 0.5, width: 0.5});
  assert.equal(placeOn(axis, {from: 11, to: 12}, 20), null);
});

test("attaching and mounting lie within starting", () => {
  const disk = (kubelet) => ({
    "node/n2": {volumes: {d: {name: "d1", attachable: true, desired: {"shop/web-1": 1}, ...kubelet}}},
  });
  const failed = {name: "volume_mount", failures: 1, failed: 3 * SECOND, retry_at: 4 * SECOND};
  const story = [
    {[ID]: {phase: "Pending", node: "n2"}},
    disk({}),
    disk({attached: true}),
    disk({operations: {"*": failed}}),
    disk({operations: null, mounts: {"shop/web-1": "VolumeMounted"}}),
    {[ID]: {phase: "Running"}},
  ].map((changes, i) => ({seq: i + 1, at: i * SECOND, changes}));
  const life = lifeOf(ID, story, 9);
  const drawn = (key) =>
    lane(life, key).slices.map((each) => [each.from / SECOND, each.to / SECOND, each.label, each.failed]);
  assert.deepEqual(drawn("attaching"), [[1, 2, "d1", false]]);
  assert.deepEqual(drawn("mounting"), [
    [2, 3, "d1", false],
    [3, 4, "d1: 1 failure", true],
  ]);
  assert.deepEqual(
    drawn("starting").map(([from, to]) => [from, to]),
    [[0, 5]],
  );
});

test("a history of volumes without its beginning is drawn", () => {
  const failed = {name: "volume_mount", failures: 2, failed: SECOND, retry_at: 2 * SECOND};
  const story = [{[ID]: {node: "n2"}}, {"node/n2": {volumes: {d: {operations: {"*": failed}}}}}];
  const life = lifeOf(
    ID,
    story.map((changes, i) => ({seq: i + 1, at: i * SECOND, changes})),
    9,
  );
  assert.equal(lane(life, "starting").slices.length, 1);
});
