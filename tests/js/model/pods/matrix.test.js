import assert from "node:assert/strict";
import {test} from "node:test";

import {
  cellWords,
  foldSkipped,
  matrixNote,
  matrixOf,
  numbersOf,
  reasonWords,
  widthOf,
} from "../../../../static/js/model/pods/matrix.js";

const room = {
  plugin: "NodeResourcesFit",
  code: "Unschedulable",
  reasons: ["Insufficient cpu"],
  text: "cpu 250m short",
  detail: {cpu: {requested: 1500, used: 2750, allocatable: 4000, short: 250}},
  short: 250,
  unit: "cpu",
};
const taint = {
  plugin: "TaintToleration",
  code: "UnschedulableAndUnresolvable",
  reasons: ["node(s) had untolerated taint {gpu: yes}"],
  text: "untolerated taint gpu=yes:NoSchedule",
  detail: {key: "gpu", value: "yes", effect: "NoSchedule"},
};
const evidence = {
  number: 3,
  evaluated: 3,
  feasible: 1,
  node: "n3",
  filters: ["TaintToleration", "NodePorts", "NodeResourcesFit"],
  skipped: ["NodePorts"],
  nodes: ["n1", "n2", "n3", "n4"],
  not_evaluated: ["n4"],
  verdicts: {
    n1: {...taint, failing: ["TaintToleration", "NodeResourcesFit"], also: {NodeResourcesFit: room}},
    n2: {...room, failing: ["NodeResourcesFit"]},
  },
  scores: {n3: {total: 7, plugins: {}}},
};
const zoneOf = (name) => (name === "n1" ? "b" : "a");

const kinds = (row) => row.cells?.map(({kind}) => kind);

test("a matrix shows the first and further failures", () => {
  const {rows} = matrixOf(evidence, zoneOf);
  const of = (name) => rows.find((row) => row.name === name);
  assert.deepEqual(kinds(of("n1")), ["bad", "skip", "also"]);
  assert.deepEqual(kinds(of("n2")), ["ok", "skip", "bad"]);
  assert.deepEqual(kinds(of("n3")), ["ok", "skip", "ok"]);
  assert.equal(of("n4").cells, null);
});

test("nodes are ordered by closeness, zone or name", () => {
  const names = (order) => matrixOf(evidence, zoneOf, order).rows.map(({name}) => name);
  assert.deepEqual(names("closest"), ["n3", "n2", "n1", "n4"]);
  assert.deepEqual(names("zone"), ["n2", "n3", "n4", "n1"]);
  assert.deepEqual(names("name"), ["n1", "n2", "n3", "n4"]);
});

test("a failure for nominated pods changes no other", () => {
  const kept = {
    plugin: "NodeResourcesFit",
    text: "room is kept",
    detail: {nominated: ["a/b"]},
    failing: ["TaintToleration"],
    also: {TaintToleration: taint},
  };
  const {rows} = matrixOf({...evidence, verdicts: {n1: kept}}, zoneOf);
  assert.deepEqual(kinds(rows.find(({name}) => name === "n1")), ["also", "skip", "bad"]);
  assert.equal(cellWords(kept), "reserved for nominated pod");
});

test("old evidence has only columns that failed", () => {
  const {filters, ...old} = evidence;
  void filters;
  assert.deepEqual(
    matrixOf(old, zoneOf).columns.map(({name}) => name),
    ["TaintToleration", "NodeResourcesFit"],
  );
});

test("a cell shows only its deciding value", () => {
  assert.equal(cellWords(room), "cpu −250m");
  assert.equal(cellWords({detail: {...room.detail, memory: {short: 1024 ** 3}}}), "cpu −250m +1");
  assert.equal(cellWords({detail: {memory: {short: 2 * 1024 ** 3}}}), "memory −2 Gi");
  assert.equal(cellWords({detail: {"nvidia.com/gpu": {short: 2}}}), "nvidia.com/gpu −2");
  assert.equal(cellWords(taint), "gpu");
  assert.equal(cellWords({unit: "skew", detail: {skew: 2, maxSkew: 1}}), "skew 2 > 1");
  assert.equal(cellWords({unit: "volumes", short: 1, detail: {}}), "1 too many");
  assert.equal(cellWords({text: "cordoned", detail: {}}), "cordoned");
});

test("a shortage is shown as a calculation", () => {
  assert.deepEqual(
    numbersOf(room, "web-1").map(({label, value}) => `${label} ${value}`),
    [
      "Allocatable cpu 4000m",
      "Requested by other pods − 2750m",
      "Free 1250m",
      "Requested by web-1 1500m",
      "Short by 250m",
    ],
  );
});

test("other numbers keep their names", () => {
  assert.deepEqual(
    numbersOf({detail: {topologyKey: "zone", held_by_attachments: 2, hostIP: "0.0.0.0", value: ""}}, "p"),
    [
      {label: "topologyKey", value: "zone", look: ""},
      {label: "Held by attachments", value: "2", look: ""},
      {label: "hostIP", value: "0.0.0.0", look: ""},
    ],
  );
});

test("a reason says whether preemption could help", () => {
  assert.equal(reasonWords(room), "Insufficient cpu. Preemption may help.");
  assert.equal(reasonWords({reasons: [], text: "no such volume"}), "no such volume.");
});

test("the title counts feasible nodes and reasons", () => {
  assert.equal(
    matrixNote(evidence),
    "attempt 3 · 1 of 3 nodes feasible · 1 Insufficient cpu, 1 node(s) had untolerated taint {gpu: yes}",
  );
});

const idle = {
  ...evidence,
  filters: ["NodeName", "NodePorts", "NodeResourcesFit", "VolumeZone"],
  skipped: ["NodePorts", "VolumeZone"],
};

test("filters that skipped the pod fold into one", () => {
  const {columns, rows} = foldSkipped(matrixOf(idle, zoneOf));
  assert.deepEqual(
    columns.map(({name}) => name),
    ["NodeName", "NodeResourcesFit", "2 skipped"],
  );
  assert.deepEqual(columns.at(-1).folded, ["NodePorts", "VolumeZone"]);
  assert.deepEqual(kinds(rows.find(({name}) => name === "n2")), ["ok", "bad", "skip"]);
  assert.equal(rows.find(({name}) => name === "n4").cells, null);
});

test("a skipped filter with a verdict stays apart", () => {
  const verdicts = {...idle.verdicts, n2: {...room, plugin: "VolumeZone", failing: ["VolumeZone"]}};
  const matrix = matrixOf({...idle, verdicts}, zoneOf);
  assert.deepEqual(foldSkipped(matrix), matrix);
});

test("a column is as wide as its words", () => {
  const wide = {...room, detail: {cpu: {...room.detail.cpu, short: 1500}}};
  const matrix = matrixOf({...evidence, verdicts: {n2: {...wide, failing: ["NodeResourcesFit"]}}}, zoneOf);
  const [taints, , resources] = matrix.columns.map((_, i) => widthOf(matrix, i));
  assert.ok(resources > "cpu −1500m".length * 7);
  assert.ok(taints >= "Toleration".length * 7);
});
