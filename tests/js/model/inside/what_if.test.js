import assert from "node:assert/strict";
import {test} from "node:test";

import {
  lineName,
  linesOf,
  otherNode,
  scalesOf,
  supposedAt,
  supposedCycle,
  supposedWords,
  trialOf,
} from "../../../../static/js/model/inside/what_if.js";

const decided = (amount, totals, more = {}) => {
  const nodes = Object.entries(totals).map(([node, total]) => ({node, total, scores: []}));
  const most = Math.max(...Object.values(totals));
  const tied = nodes.filter(({total}) => total === most).map(({node}) => node);
  const score = nodes.length > 0 ? {is_compared: nodes.length > 1, nodes} : null;
  return {amount, fits: nodes.length, tied, total: most, refused: [], score, fields: {amount}, ...more};
};
const TOLD = {
  pod: "shop/web-0",
  resource: "cpu",
  asked: 500,
  supposed: [
    decided(500, {a: 40, b: 30}),
    decided(1000, {a: 35, b: 35}),
    decided(1500, {b: 20}),
    decided(2000, {}, {refused: ["2 Insufficient cpu"]}),
  ],
};

test("without an amount the recorded one is looked at", () => {
  assert.equal(supposedAt(TOLD, null).amount, 500);
  assert.equal(supposedAt(TOLD, 1000).amount, 1000);
  assert.deepEqual(supposedCycle(TOLD.supposed[0]).host, {node: "a", tied: ["a"]});
});

test("lines end where a node no longer competes", () => {
  const drawn = linesOf(TOLD);
  assert.deepEqual(
    drawn.lines.map((line) => [lineName(line), line.points]),
    [
      [
        "a",
        [
          [500, 40],
          [1000, 35],
        ],
      ],
      [
        "b",
        [
          [500, 30],
          [1000, 35],
        ],
      ],
    ],
  );
  const {x, y} = scalesOf(TOLD, drawn, {left: 10, width: 100, top: 0, height: 120});
  assert.deepEqual([x(2000), x(1000), Math.round(y(40)), Math.round(y(30))], [110, 60, 10, 110]);
});

test("equal nodes have one line", () => {
  const drawn = linesOf({supposed: [decided(500, {a: 4, b: 4, c: 3}), decided(900, {a: 2, b: 2, c: 1})]});
  assert.deepEqual(drawn.lines.map(lineName), ["a = b", "c"]);
  assert.equal(lineName({nodes: ["a", "b", "c"]}), "a and 2 more");
});

test("an amount says who would win", () => {
  assert.deepEqual(TOLD.supposed.map(supposedWords), [
    "a would win, of 2 that fit.",
    "a, b would tie, of 2 that fit.",
    "Only b would fit, so nothing would be scored.",
    "No node would fit: 2 Insufficient cpu.",
  ]);
});

test("a fork tries the amount or another node", () => {
  const way = trialOf(TOLD, TOLD.supposed[0]);
  assert.deepEqual(way.commands, [{verb: "patch", object: "pod/shop/web-0", patch: {spec: {amount: 500}}}]);
  assert.deepEqual([way.trial.node, trialOf(TOLD, TOLD.supposed[3])], ["a", null]);
  assert.equal(trialOf(TOLD, TOLD.supposed[1]).trial.outcome, "it is bound to a or b");
  assert.deepEqual(otherNode("shop/web-0", "b").commands, [{verb: "bind", object: "pod/shop/web-0", node: "b"}]);
});
