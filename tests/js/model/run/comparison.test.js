import assert from "node:assert/strict";
import {test} from "node:test";

import {
  alikeText,
  differenceText,
  figure,
  foldedRows,
  grouped,
  runLine,
  shareDifference,
  shareText,
  shortfall,
  spotHealth,
} from "../../../../static/js/model/run/comparison.js";

const row = (at, same) => ({at, same, a: {seq: at}, b: {seq: at}});

test("a missing number says none yet", () => {
  assert.equal(figure(null, "ns"), "none yet");
  assert.equal(figure(214313577, "ns"), "0.21 s");
  assert.equal(figure(8000, "count"), "8,000");
});

test("a difference has a sign and the unit of what differs", () => {
  assert.equal(differenceText({difference: 5203676, unit: "ns"}), "+5 ms");
  assert.equal(differenceText({difference: -81, unit: "count"}), "−81");
  assert.equal(differenceText({difference: 0, unit: "count"}), "0");
  assert.equal(differenceText({difference: null, unit: "ns"}), "");
});

test("utilisation shows its calculation", () => {
  assert.equal(shareText("cpu", [40900, 52000]), "40.9 / 52 = 78.7 %");
  assert.equal(shareText("pods", [0, 0]), "none");
  assert.equal(shareDifference({a: [40900, 52000], b: [38900, 52000]}), "−3.8 points");
  assert.equal(shareDifference({a: [1, 2], b: [2, 4]}), "0");
  assert.equal(shareDifference({a: [0, 0], b: [2, 4]}), "");
});

test("several identical events become one row", () => {
  const rows = [row(1, true), row(2, false), row(3, true), row(4, true)];
  const folded = foldedRows(rows);
  assert.deepEqual(
    folded.map((each) => each.alike?.length ?? each.row.at),
    [1, 2, 2],
  );
  assert.equal(alikeText([row(1e9, true), row(2e9, true)]), "2 identical events in both runs, from 1.000 to 2.000 s");
});

test("a pod of either run has its one health", () => {
  const words = (pod, host = null) => spotHealth("pod/shop/web", {pod, host}, 0).words;
  assert.equal(words({node: "n1", phase: "Running"}, {ready: true}), "bound to n1");
  assert.equal(words({node: "n1", phase: "Running"}, {ready: false}), "node n1 is NotReady");
  assert.equal(words({queue: "gated"}), "gated");
  assert.equal(words(null), "does not exist at this moment");
});

test("a nominated pod waits for the same pods in a comparison", () => {
  const pod = {nominated: "n1", queue: "unschedulable"};
  const ending = {"pod/shop/old": {node: "n1", deleting: 9e9}};
  const {words, detail} = spotHealth("pod/shop/web", {pod, host: {ready: true}, ending}, 4e9);
  assert.equal(words, "waits for old to end on n1");
  assert.match(detail, /5\.00 s of grace left$/);
});

test("the closest related runs are offered first", () => {
  const runs = [
    {id: 1, relation: "other"},
    {id: 2, relation: "fork"},
    {id: 3, relation: "parent"},
  ];
  assert.deepEqual(
    grouped(runs).map(([, members]) => members[0].id),
    [2, 3, 1],
  );
});

test("a fork names its parent", () => {
  const run = {id: 11, name: "what if", profile: "v1.34", seed: 7, parent: 3, forked_at: 30e9};
  assert.equal(runLine(run), "#11 what if, v1.34, seed 7, fork of #3 at 30.000 s");
  assert.equal(runLine({...run, parent: null}), "#11 what if, v1.34, seed 7");
});

test("a run with an external scheduler says so", () => {
  const run = {id: 4, name: "small", profile: "v1.36", seed: 7, parent: null, external_scheduler: true};
  assert.equal(runLine(run), "#4 small, v1.36, external scheduler, seed 7");
});

test("a run that is behind is named", () => {
  const a = {id: 1, head_at: 60e9, status: "paused"};
  const b = {id: 2, head_at: 20e9, status: "paused"};
  assert.match(shortfall({at: 30e9, reached: 20e9, a, b}), /^#2 has only reached 20\.000 s/);
  assert.equal(shortfall({at: 10e9, reached: 20e9, a, b}), "");
});
