import assert from "node:assert/strict";
import {test} from "node:test";

import {
  cutName,
  inputWords,
  isShared,
  isStrip,
  linePath,
  nextParting,
  placedCount,
  sharedWords,
  terms,
  tileTitle,
  zonesOf,
} from "../../../../static/js/model/run/two_boards.js";

const node = (name, zone, pods = []) => ({name, zone, pods});

test("the nodes of a board are grouped by zone", () => {
  const board = {nodes: [node("n1", "a", [{pod: "pod/x/one"}]), node("n2", "a"), node("n3", "b")]};
  assert.deepEqual(
    zonesOf(board).map(([zone, nodes]) => [zone, nodes.length]),
    [
      ["a", 2],
      ["b", 1],
    ],
  );
  assert.equal(placedCount(board), 1);
});

test("more than sixty nodes are drawn as strips", () => {
  const nodes = Array.from({length: 61}, (_, i) => node(`n${i}`, ""));
  assert.equal(isStrip({nodes}), true);
  assert.equal(isStrip({nodes: nodes.slice(1)}), false);
});

test("the next difference is after the moment shown", () => {
  const partings = [
    {at: 1, pod: "pod/x/one"},
    {at: 5, pod: "pod/x/two"},
  ];
  assert.equal(nextParting(partings, 1).pod, "pod/x/two");
  assert.equal(nextParting(partings, 5), null);
});

test("a long name keeps its beginning and its end", () => {
  const cut = cutName("checkout-frontend-deployment-7f9c5d8b6d-x2k4j", 20);
  assert.equal(cut, "checkout-f…b6d-x2k4j");
  assert.equal(cutName("web-0", 20), "web-0");
});

test("factors that changed stand apart from the rest", () => {
  const fit = {plugin: "Fit", score: 40, weight: 3, points: 120};
  const rest = {plugin: "Rest", score: 74, weight: 1, points: 74};
  assert.deepEqual(terms({total: 194, terms: [fit, rest]}, ["Fit"]), {rest: 74, apart: [fit]});
});

test("a line has the largest count at its top", () => {
  assert.equal(linePath([0, 4, 2], {width: 100, height: 10, most: 4}), "M0.0 10.0L50.0 0.0L100.0 5.0");
  assert.equal(linePath([], {width: 100, height: 10, most: 4}), "");
});

test("an input says what changed into what", () => {
  const given = inputWords({kind: "configuration", what: "profiles.0.weight", a: 1, b: 3});
  assert.deepEqual(given, {what: "the configuration profiles.0.weight", from: "1", to: "3"});
  assert.equal(inputWords({kind: "command", what: "command", a: null, b: "NodeCordoned node/n1"}).from, "none");
});

test("a pod elsewhere says so in its title", () => {
  assert.equal(
    tileTitle({pod: "pod/shop/web", elsewhere: true, assumed: false}),
    "shop/web, not on the same node in the other run",
  );
});

const parted = {
  a: {id: 1, head: 30, seq: 9, parent: null},
  b: {id: 2, head: 40, seq: 9, parent: 1},
  shared: 12,
  divergence: {},
};

test("the shared past of a fork is one board", () => {
  assert.equal(isShared(parted), true);
  assert.equal(sharedWords(parted), "The shared past: the same until event 12.");
  const later = {...parted, a: {...parted.a, seq: 13}, b: {...parted.b, seq: 13}};
  assert.equal(isShared(later), false);
});

test("equal runs are one board to their end", () => {
  const equal = {
    ...parted,
    a: {...parted.a, seq: 30},
    b: {...parted.b, seq: 30, head: 30},
    shared: 30,
    divergence: null,
  };
  assert.equal(isShared(equal), true);
  assert.equal(sharedWords(equal), "Equal in all 30 events: one board shows both.");
});

test("two moments of one run are two boards", () => {
  assert.equal(isShared({...parted, b: {...parted.a}}), false);
});
