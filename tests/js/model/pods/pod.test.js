import assert from "node:assert/strict";
import {test} from "node:test";

import {podHealth, podStates} from "../../../../static/js/model/health/pod.js";
import {listPods, ownerOf} from "../../../../static/js/model/pods/pod.js";

const entities = new Map([
  ["node/n1", {ready: true}],
  ["pod/shop/web-1", {node: "n1", phase: "Running"}],
  ["pod/shop/web-2", {queue: "backoff"}],
  ["pod/ci/build-1", {queue: "unschedulable"}],
  ["pod/ci/build-2", {assumed: "n1"}],
]);

const nodes = {pods: new Map()};
const model = {entities, nodes, at: 0};
const names = ({pods}) => pods.map(([id]) => id.split("/").pop());

test("waiting pods come first", () => {
  assert.deepEqual(names(listPods(model, {text: "", place: ""}, 10)), ["build-1", "web-2", "build-2", "web-1"]);
});

test("the list is filtered by name and state", () => {
  assert.deepEqual(names(listPods(model, {text: "shop/", place: ""}, 10)), ["web-2", "web-1"]);
  assert.deepEqual(names(listPods(model, {text: "", place: "bound"}, 10)), ["web-1"]);
  assert.deepEqual(names(listPods(model, {text: "pod/", place: ""}, 10)), []);
});

test("the list counts pods that it leaves out", () => {
  const {pods, found, counts} = listPods(model, {text: "", place: ""}, 2);
  assert.equal(pods.length, 2);
  assert.equal(found, 4);
  assert.equal(counts.get("bound"), 1);
});

test("a finished pod is not counted as bound", () => {
  const done = {node: "n1", phase: "Succeeded"};
  const {counts} = listPods(
    {...model, entities: new Map([...entities, ["pod/ci/build-3", done]])},
    {text: "", place: ""},
    10,
  );
  assert.deepEqual([counts.get("bound"), counts.get("finished")], [1, 1]);
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

test("every pod is on one page of the list", () => {
  const pages = [0, 1].map((page) => listPods(model, {text: "", place: "", page}, 2));
  assert.deepEqual(pages.flatMap(names), ["build-1", "web-2", "build-2", "web-1"]);
  const last = listPods(model, {text: "", place: "", page: 9}, 2);
  assert.deepEqual([last.page, last.pages, names(last)], [1, 2, ["build-2", "web-1"]]);
});
