import assert from "node:assert/strict";
import {test} from "node:test";

import {cellWords, matrixNote, matrixOf, numbersOf, reasonWords} from "../../../static/js/model/matrix.js";

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

test("a matrix shows later refusals too", () => {
  const {rows} = matrixOf(evidence, zoneOf);
  const of = (name) => rows.find((row) => row.name === name);
  assert.deepEqual(kinds(of("n1")), ["bad", "skip", "also"]);
  assert.deepEqual(kinds(of("n2")), ["ok", "skip", "bad"]);
  assert.deepEqual(kinds(of("n3")), ["ok", "skip", "ok"]);
  assert.equal(of("n4").cells, null);
});

test("nodes stand by how close they came, by zone or by name", () => {
  const names = (order) => matrixOf(evidence, zoneOf, order).rows.map(({name}) => name);
  assert.deepEqual(names("closest"), ["n3", "n2", "n1", "n4"]);
  assert.deepEqual(names("zone"), ["n2", "n3", "n4", "n1"]);
  assert.deepEqual(names("name"), ["n1", "n2", "n3", "n4"]);
});

test("a nominated pod's refusal changes no other cell", () => {
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

test("evidence of an earlier release has the columns that refused", () => {
  const {filters, ...old} = evidence;
  void filters;
  assert.deepEqual(
    matrixOf(old, zoneOf).columns.map(({name}) => name),
    ["TaintToleration", "NodeResourcesFit"],
  );
});

test("a cell says the least that tells it apart", () => {
  assert.equal(cellWords(room), "cpu −250m");
  assert.equal(cellWords({detail: {...room.detail, memory: {short: 1024 ** 3}}}), "cpu −250m +1");
  assert.equal(cellWords({detail: {memory: {short: 2 * 1024 ** 3}}}), "memory −2 Gi");
  assert.equal(cellWords({detail: {"nvidia.com/gpu": {short: 2}}}), "nvidia.com/gpu −2");
  assert.equal(cellWords(taint), "gpu");
  assert.equal(cellWords({unit: "skew", detail: {skew: 2, maxSkew: 1}}), "skew 2 > 1");
  assert.equal(cellWords({unit: "volumes", short: 1, detail: {}}), "1 too many");
  assert.equal(cellWords({text: "cordoned", detail: {}}), "cordoned");
});

test("what is short is told as a sum", () => {
  assert.deepEqual(
    numbersOf(room, "web-1").map(({label, value}) => `${label} ${value}`),
    ["Allocatable cpu 4000m", "Requested by pods there − 2750m", "Free 1250m", "web-1 asks 1500m", "Short by 250m"],
  );
});

test("other numbers are told by their names", () => {
  assert.deepEqual(
    numbersOf({detail: {topologyKey: "zone", held_by_attachments: 2, hostIP: "0.0.0.0", value: ""}}, "p"),
    [
      {label: "Topology key", value: "zone", look: ""},
      {label: "Held by attachments", value: "2", look: ""},
      {label: "Host IP", value: "0.0.0.0", look: ""},
    ],
  );
});

test("a reason tells whether evictions could help", () => {
  assert.equal(reasonWords(room), "Insufficient cpu. Preemption may help.");
  assert.equal(reasonWords({reasons: [], text: "no such volume"}), "no such volume.");
});

test("the title counts who fits and why others do not", () => {
  assert.equal(
    matrixNote(evidence),
    "attempt 3 · 1 of 3 nodes feasible · 1 Insufficient cpu, 1 node(s) had untolerated taint {gpu: yes}",
  );
});
