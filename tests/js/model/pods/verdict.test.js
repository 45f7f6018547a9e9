import assert from "node:assert/strict";
import {test} from "node:test";

import {bestFirst, closestFirst, emphasise, figureOf, verdictOf} from "../../../../static/js/model/pods/verdict.js";

const EVIDENCE = {
  number: 3,
  node: "n1",
  nodes: ["n1", "n2", "n3", "n4"],
  not_evaluated: ["n4"],
  verdicts: {n3: {plugin: "NodeResourcesFit", text: "cpu 250m short", short: 250}},
  scores: {n1: {total: 171}, n2: {total: 160}},
};

test("a node is chosen, fits, does not fit or was not evaluated", () => {
  const kinds = ["n1", "n2", "n3", "n4", "n5"].map((name) => verdictOf(EVIDENCE, name).kind);
  assert.deepEqual(kinds, ["chosen", "fits", "unfit", "skipped", "skipped"]);
  assert.equal(verdictOf(EVIDENCE, "n1").text, "chosen, score 171");
  assert.equal(verdictOf(EVIDENCE, "n4").text, "not evaluated in attempt 3");
  assert.equal(verdictOf(null, "n1"), null);
});

test("a single feasible node is not scored", () => {
  assert.equal(
    verdictOf({...EVIDENCE, feasible: 1, scores: {n1: {total: 171}}}, "n1").text,
    "chosen, the only node that fits",
  );
});

test("the smallest relative shortage is the closest", () => {
  const short = (resource, requested, missing) => ({
    plugin: "NodeResourcesFit",
    failing: ["NodeResourcesFit"],
    short: missing,
    detail: {[resource]: {requested, short: missing}},
  });
  const evidence = {
    verdicts: {
      taint: {plugin: "TaintToleration", failing: ["TaintToleration"], detail: {key: "dedicated"}},
      twice: {...short("cpu", 1500, 10), failing: ["TaintToleration", "NodeResourcesFit"]},
      far: short("cpu", 1500, 1100),
      near: short("cpu", 1500, 250),
      memory: short("memory", 4 * 1024 ** 3, 2 * 1024 ** 3),
    },
  };
  const order = closestFirst(evidence).map(([name]) => name);
  assert.deepEqual(order, ["near", "memory", "far", "taint", "twice"]);
});

test("each short resource is an obstacle", () => {
  const cpu = {requested: 2000, short: 400};
  const gpu = {requested: 2, short: 2};
  const evidence = {
    verdicts: {
      both: {failing: ["GeneralPredicates"], short: 400, detail: {cpu, gpu}},
      more: {failing: ["GeneralPredicates"], short: 1900, detail: {cpu: {...cpu, short: 1900}, gpu, memory: gpu}},
      tainted: {failing: ["GeneralPredicates", "PodToleratesNodeTaints"], short: 2, detail: {gpu}},
    },
  };
  assert.deepEqual(
    closestFirst(evidence).map(([name]) => name),
    ["tainted", "both", "more"],
  );
});

test("a shadow decision has bound no pod", () => {
  assert.equal(verdictOf({...EVIDENCE, cycle: 0}, "n1").text, "would be chosen, score 171");
});

test("the chosen node comes first among equals", () => {
  const scores = {a: {total: 9}, b: {total: 9}, c: {total: 12}};
  assert.deepEqual(
    bestFirst({node: "b", scores}).map(([name]) => name),
    ["c", "b", "a"],
  );
});

test("the decisive words of a verdict are emphasised", () => {
  assert.deepEqual(emphasise("cpu 250m short"), ["cpu ", "250m short", ""]);
  assert.deepEqual(emphasise("storage 8 Gi short"), ["storage ", "8 Gi short", ""]);
  assert.deepEqual(emphasise("volumes 8 of 8 attached"), ["volumes ", "8 of 8", " attached"]);
  assert.deepEqual(emphasise("zone skew 2 > 1"), ["zone skew ", "2 > 1", ""]);
  assert.deepEqual(emphasise("untolerated taint"), ["untolerated ", "taint", ""]);
  assert.deepEqual(emphasise("volume v of data is out of reach"), ["volume v of data is out of reach", "", ""]);
  assert.deepEqual(emphasise(""), ["", "", ""]);
});

test("a blocker's number has its own unit", () => {
  assert.deepEqual(figureOf({value: 250, unit: "cpu", node: "n1"}), {value: "250m", words: "CPU short on n1"});
  assert.deepEqual(figureOf({value: 2 * 1024 ** 3, unit: "memory"}), {value: "2 Gi", words: "memory short"});
  assert.deepEqual(figureOf({value: 1, unit: "volumes", node: "n1"}), {value: "1", words: "volume too many on n1"});
  assert.equal(figureOf({value: null, unit: null}), null);
});
