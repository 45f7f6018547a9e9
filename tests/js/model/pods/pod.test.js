import assert from "node:assert/strict";
import {test} from "node:test";

import {podHealth, podStates} from "../../../../static/js/model/health/pod.js";
import {ownerOf} from "../../../../static/js/model/pods/pod.js";

const entities = new Map([
  ["node/n1", {ready: true}],
  ["pod/shop/web-1", {node: "n1", phase: "Running"}],
  ["pod/shop/web-2", {queue: "backoff"}],
  ["pod/ci/build-1", {queue: "unschedulable"}],
  ["pod/ci/build-2", {assumed: "n1"}],
]);

const nodes = {pods: new Map()};
const model = {entities, nodes, at: 0};

test("a finished pod is not counted as bound", () => {
  const done = {node: "n1", phase: "Succeeded"};
  assert.equal(podHealth("pod/ci/build-3", done, model).place, "finished");
  assert.equal(podHealth("pod/ci/build-3", done, model).words, "Succeeded on n1");
  assert.equal(podHealth("pod/ci/build-3", {...done, deleting: 5}, model).words, "terminating");
});

test("a pod can have several states", () => {
  assert.deepEqual(
    podStates("pod/ci/a", {queue: "unschedulable", nominated: "n1"}, model).map(([mark]) => mark),
    ["nominated", "unschedulable"],
  );
  assert.deepEqual(
    podStates("pod/ci/a", undefined, model).map(([, , words]) => words),
    ["does not exist at this moment"],
  );
});

test("a pod names the workload that controls it", () => {
  const known = new Map([["statefulset/shop/db", {}]]);
  assert.equal(ownerOf("pod/shop/db-0", {owner: "db"}, known), "statefulset/shop/db");
  assert.equal(ownerOf("pod/other/db-0", {owner: "db"}, known), null);
  assert.equal(ownerOf("pod/shop/lone", {}, known), null);
});
