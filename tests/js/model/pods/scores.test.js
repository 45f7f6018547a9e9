import assert from "node:assert/strict";
import {test} from "node:test";

import {choiceOf, scoresOf} from "../../../../static/js/model/pods/scores.js";

const evidence = {
  node: "n2",
  tied: ["n2"],
  weights: {TaintToleration: 3, NodeResourcesFit: 1},
  not_scored: ["NodeAffinity"],
  scores: {
    n1: {total: 316, plugins: {TaintToleration: [0, 100, 300], NodeResourcesFit: [16, 16, 16]}},
    n2: {total: 341, plugins: {TaintToleration: [0, 100, 300], NodeResourcesFit: [41, 41, 41]}},
    n3: {total: 24, plugins: {TaintToleration: [1, 0, 0], NodeResourcesFit: [24, 24, 24]}},
  },
};

test("the best nodes come first, with their calculation", () => {
  const {nodes, rows, ahead, others} = scoresOf(evidence, 2);
  assert.deepEqual(nodes, [
    {name: "n2", total: 341, chosen: true},
    {name: "n1", total: 316, chosen: false},
  ]);
  assert.deepEqual(rows[0].parts[0], {raw: 0, normalized: 100, weight: 3, weighted: 300, share: 1});
  assert.equal(ahead, 25);
  assert.equal(others, 1);
});

test("a weight is known where the score is zero", () => {
  const {rows} = scoresOf(evidence, 3);
  assert.equal(rows[0].parts[2].weight, 3);
});

test("without scores there is no table", () => {
  assert.equal(scoresOf({scores: {}}, 3), null);
});

test("how one of several equal nodes was chosen", () => {
  const tied = ["n1", "n2"];
  assert.equal(choiceOf({tied, tie_break: "random"}), "chosen at random among 2 equal scores");
  assert.equal(choiceOf({tied, tie_break: "name"}), "first by name of 2 equal scores");
  assert.equal(choiceOf({tied, tie_break: "turn"}), "its turn among 2 equal scores");
  assert.equal(choiceOf({tied: ["n1"]}), "");
});

test("a huge weight does not hide other bars", () => {
  const plugins = (least) => ({NodePreferAvoidPods: [100, 100, 1_000_000], LeastAllocated: [least, least, least]});
  const {rows} = scoresOf(
    {
      node: "n1",
      weights: {NodePreferAvoidPods: 10_000, LeastAllocated: 1},
      scores: {n1: {total: 1_000_080, plugins: plugins(80)}, n2: {total: 1_000_040, plugins: plugins(40)}},
    },
    2,
  );
  const shares = Object.fromEntries(rows.map(({plugin, parts}) => [plugin, parts.map(({share}) => share)]));
  assert.deepEqual(shares, {NodePreferAvoidPods: [1, 1], LeastAllocated: [1, 0.5]});
});
