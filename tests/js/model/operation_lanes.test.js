import assert from "node:assert/strict";
import {test} from "node:test";

import {operationLanes, operationsAxis} from "../../../static/js/model/operation_lanes.js";

const ID = "node/n1";
const DISK = "kubernetes.io/csi/disk.csi.example.com^d1";
const SECOND = 1e9;

/** Events at these seconds: each a patch on what is shown of the volume. */
function told(...patches) {
  return patches.map(([second, volumes, attachments], i) => ({
    seq: i + 1,
    at: second * SECOND,
    changes: {
      [ID]: {...(volumes && {volumes: {[DISK]: volumes}}), ...(attachments && {attachments: {[DISK]: attachments}})},
    },
  }));
}

const mounting = (second) => ({
  operations: {"*": {name: "volume_mount", started: second * SECOND, failed: null, retry_at: null}},
});
const failed = (second, again, failures) => ({
  operations: {"*": {started: null, failures, failed: second * SECOND, retry_at: again * SECOND}},
});

const STORY = told(
  [0, null, {name: "d1", operation: {name: "volume_attach", started: 0}}],
  [1, null, {operation: null, attached: true}],
  [1, {name: "d1", desired: {"shop/web": SECOND}, ...mounting(1)}],
  [2, failed(2, 3, 1)],
  [3, mounting(3)],
  [4, failed(4, 6, 2)],
);

const short = ({look, title, from, to, until}) => [
  look,
  title,
  from / SECOND,
  to === null ? null : to / SECOND,
  until === null ? null : until / SECOND,
];

test("a lane shows operations and backoffs in order", () => {
  const [{name, slices}] = operationLanes(ID, STORY, 6);
  assert.equal(name, "d1");
  assert.deepEqual(slices.map(short), [
    ["t", "Attach", 0, 1, null],
    ["", "Mount failed", 1, 2, null],
    ["bo", "backoff after failure 1", 2, 3, 3],
    ["", "Mount failed", 3, 4, null],
    ["bo", "backoff after failure 2", 4, null, 6],
  ]);
});

test("what comes after the event shown is not found yet", () => {
  const [{slices}] = operationLanes(ID, STORY, 3);
  assert.deepEqual(slices.map(short), [
    ["t", "Attach", 0, 1, null],
    ["t", "Mount", 1, null, null],
  ]);
});

test("an immediate failure is still marked", () => {
  const at = (second, again, failures) => ({
    operation: {name: "volume_attach", failures, failed: second * SECOND, retry_at: again * SECOND},
  });
  const [{slices}] = operationLanes(ID, told([1, null, {name: "d1", ...at(1, 2, 1)}], [2, null, at(2, 4, 2)]), 2);
  assert.deepEqual(slices.map(short), [
    ["", "Attach failed", 1, 1, null],
    ["bo", "backoff after failure 1", 1, 2, 2],
    ["", "Attach failed", 2, 2, null],
    ["bo", "backoff after failure 2", 2, null, 4],
  ]);
});

test("a deleted node ends every mount's line", () => {
  const events = told(
    [1, {name: "d1", mounts: {"shop/web": "VolumeMounted"}}],
    [5, {mounts: null}],
    [6, {mounts: {"shop/web": "VolumeMounted"}}],
  );
  events.push({seq: 4, at: 7 * SECOND, changes: {[ID]: null}});
  const [{slices}] = operationLanes(ID, events, 4);
  assert.deepEqual(slices.map(short), [
    ["steady", "mounted", 1, 5, null],
    ["steady", "mounted", 6, 7, null],
  ]);
});

test("what a controller has forgotten does not go on", () => {
  const events = told([0, null, {name: "d1", operation: {name: "volume_attach", started: 0}}]);
  events.push({seq: 2, at: SECOND, changes: {[ID]: {attachments: null}}});
  const [{slices}] = operationLanes(ID, events, 2);
  assert.deepEqual(slices.map(short), [["t", "Attach", 0, 1, null]]);
});

test("the axis reaches beyond the next try, and not for ever back", () => {
  const lanes = operationLanes(ID, STORY, 6);
  const axis = operationsAxis(lanes, 4 * SECOND);
  assert.equal(axis.from, 0);
  assert.ok(axis.to > 6 * SECOND);
  assert.equal(operationsAxis(lanes, 500 * SECOND).from, 440 * SECOND);
});
