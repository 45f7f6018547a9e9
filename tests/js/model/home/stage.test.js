import assert from "node:assert/strict";
import {test} from "node:test";

import {
  filterCells,
  nodeBoxes,
  podMarks,
  podUnder,
  scoreBars,
  stageBoxes,
} from "../../../../static/js/model/home/stage.js";

const pods = (count, lane, more = {}) =>
  Array.from({length: count}, (_, i) => ({name: `shop/${lane}-${i}`, state: lane, lane, node: -1, ...more}));
const nodes = (count) => Array.from({length: count}, (_, i) => ({name: `node-${i}`, isThere: true}));
const SIZES = [
  [1392, 222],
  [900, 222],
  [350, 330],
];
const inside = (inner, outer) =>
  inner.x >= outer.x - 0.01 &&
  inner.y >= outer.y - 0.01 &&
  inner.x + inner.width <= outer.x + outer.width + 0.01 &&
  inner.y + inner.height <= outer.y + outer.height + 0.01;

for (const [width, height] of SIZES) {
  test(`the stages fill a picture of ${width} pixels without overlap`, () => {
    const boxes = stageBoxes(width, height);
    const area = boxes.reduce((sum, box) => sum + box.width * box.height, 0);
    assert.equal(boxes.length, 5);
    assert.ok(Math.abs(area - width * height) < 1);
    for (const box of boxes) assert.ok(inside(box, {x: 0, y: 0, width, height}), box.name);
  });

  test(`marks stay in their boxes at ${width} pixels`, () => {
    const narrow = width < 700;
    const boxes = stageBoxes(width, height);
    const scene = {
      nodes: nodes(12),
      pods: [...pods(400, "unschedulable"), ...pods(90, "binding"), ...pods(200, "running", {node: 7})],
    };
    const marks = podMarks(scene, boxes, narrow);
    const box = {unschedulable: boxes[0], binding: boxes[3], running: nodeBoxes(boxes[4], 12, narrow)[7]};
    assert.ok(marks.length > 20);
    for (const {pod, x, y, size} of marks) {
      const mark = {x: x - size / 2, y: y - size / 2, width: size, height: size};
      assert.ok(inside(mark, box[pod.lane]), `${pod.name} at ${x}, ${y}`);
    }
  });

  test(`nodes, cells and bars stay in their boxes at ${width} pixels`, () => {
    const [, filters, scores, , running] = stageBoxes(width, height);
    for (const count of [1, 3, 12, 16]) {
      for (const cell of filterCells(filters, count)) assert.ok(inside(cell, filters), `cell of ${count}`);
      for (const cell of nodeBoxes(running, count, width < 700)) assert.ok(inside(cell, running), `node of ${count}`);
      const totals = Array.from({length: count}, (_, i) => 400 + i);
      for (const bar of scoreBars(scores, totals)) assert.ok(inside(bar, scores), `bar of ${count}`);
    }
  });
}

test("pods that leave stand last on their node", () => {
  const boxes = stageBoxes(1392, 222);
  const leaving = {name: "shop/old", state: "terminating", lane: "running", node: 0};
  const marks = podMarks({nodes: nodes(1), pods: [leaving, ...pods(2, "running", {node: 0})]}, boxes, false);
  assert.deepEqual(
    marks.map(({pod}) => pod.name),
    ["shop/running-0", "shop/running-1", "shop/old"],
  );
});

test("the best score has the tallest bar, and comes first", () => {
  const bars = scoreBars({x: 0, y: 0, width: 200, height: 222, head: 0}, [401, 454, 413]);
  assert.deepEqual(
    bars.map(({isBest}) => isBest),
    [true, false, false],
  );
  assert.ok(bars[0].height > bars[1].height && bars[1].height > bars[2].height);
});

test("the pod under the pointer is the nearest one", () => {
  const marks = [
    {pod: "a", x: 10, y: 10, size: 10},
    {pod: "b", x: 22, y: 10, size: 10},
  ];
  assert.equal(podUnder(marks, 12, 10), "a");
  assert.equal(podUnder(marks, 17, 10), "b");
  assert.equal(podUnder(marks, 60, 60), null);
});
