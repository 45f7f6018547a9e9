import assert from "node:assert/strict";
import {test} from "node:test";

import * as format from "../../../../static/js/model/shared/format.js";

const GI = 1024 ** 3;

test("CPU is written as Kubernetes writes it", () => {
  assert.equal(format.cpu(250), "250m");
  assert.equal(format.cpu(2000), "2");
  assert.equal(format.cores(2750), "2.75");
});

test("memory uses the largest fitting binary unit", () => {
  assert.equal(format.bytes(3 * GI), "3 Gi");
  assert.equal(format.bytes(512 * 1024 ** 2), "512 Mi");
  assert.equal(format.bytes(12), "12");
});

test("a meter uses one unit for both amounts", () => {
  assert.equal(format.ratio("memory", 11.2 * GI, 16 * GI), "11.2 / 16 Gi");
  assert.equal(format.ratio("memory", 0.6 * GI, 8 * GI), "0.6 / 8 Gi");
  assert.equal(format.ratio("cpu", 2750, 4000), "2.75 / 4");
  assert.equal(format.ratio("pods", 9, 20), "9 / 20");
});

test("amounts carry their resource", () => {
  assert.equal(format.amount("cpu", 1500), "1500m CPU");
  assert.equal(format.amount("memory", 3 * GI), "3 Gi");
  assert.equal(format.amount("nvidia.com/gpu", 2), "2 nvidia.com/gpu");
});

test("durations take the unit that reads best", () => {
  assert.equal(format.duration(0), "0 s");
  assert.equal(format.duration(3e6), "3 ms");
  assert.equal(format.duration(0.65e9), "0.65 s");
  assert.equal(format.duration(38.02e9), "38.02 s");
  assert.equal(format.duration(724e9), "12 min 04 s");
  assert.equal(format.duration(-5), "0 s");
});

test("moments have milliseconds", () => {
  assert.equal(format.moment(42.35e9), "42.350");
});

test("all ticks of an axis share its unit", () => {
  const labels = (end, ...moments) => moments.map((at) => format.tick(at * 1e9, end * 1e9));
  assert.deepEqual(labels(0.137, 0, 0.08, 0.1, 0.137), ["0 s", "80 ms", "100 ms", "137 ms"]);
  assert.deepEqual(labels(61.9, 10, 61.9), ["10 s", "61.9 s"]);
  assert.deepEqual(labels(724, 600, 724), ["10 min", "12 min 4 s"]);
  assert.deepEqual(labels(86400, 7200, 9000), ["2 h", "2 h 30 min"]);
});

test("the ticks of a short axis have enough digits", () => {
  const labels = (from, end, ...moments) => moments.map((at) => format.tick(at * 1e9, end * 1e9, from * 1e9));
  assert.deepEqual(labels(29.35, 29.73, 29.4, 29.45), ["29.4 s", "29.45 s"]);
  assert.deepEqual(labels(29.35, 29.37, 29.355, 29.36), ["29.355 s", "29.36 s"]);
  assert.deepEqual(labels(700, 704, 701, 702.5), ["701 s", "702.5 s"]);
});

test("ids are parsed into kind, namespace and name", () => {
  assert.deepEqual(format.parseId("pod/shop/web-3"), {
    kind: "pod",
    namespace: "shop",
    name: "web-3",
    key: "shop/web-3",
  });
  assert.deepEqual(format.parseId("node/n1"), {kind: "node", namespace: "", name: "n1", key: "n1"});
  assert.deepEqual(format.parseId("queue"), {kind: "queue", namespace: "", name: "", key: ""});
});

test("component names fit their column", () => {
  assert.equal(format.author("deployment-controller"), "deployment");
  assert.equal(format.author("pv-controller"), "pv-controller");
  assert.equal(format.author("scheduler"), "scheduler");
});

test("the end of a long name is its hash or ordinal", () => {
  for (const [name, end] of [
    ["checkout-frontend-7d9f8b6c5-x2vq9", "-7d9f8b6c5-x2vq9"],
    ["data-warehouse-postgres-12", "-12"],
    ["aks-nodepool1-35064155-vmss000002", "-vmss000002"],
    ["ip-10-0-12-7.eu-central-1.compute.internal", ".internal"],
    ["web-7d9f8b6c5-x2", ""],
  ])
    assert.deepEqual(format.nameEnds(name), [name.slice(0, name.length - end.length), end]);
});

test("a long word is cut near its end", () => {
  assert.deepEqual(format.nameEnds("averylongsinglewordname"), ["averylongsi", "nglewordname"]);
});
