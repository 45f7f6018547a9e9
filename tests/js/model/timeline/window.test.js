import assert from "node:assert/strict";
import {test} from "node:test";

import {roundMoments} from "../../../../static/js/model/timeline/ticks.js";
import {
  SHORTEST,
  centred,
  fitted,
  momentAt,
  moved,
  pixelOf,
  stretched,
  wholeOf,
  zoomed,
} from "../../../../static/js/model/timeline/window.js";

const S = 1e9;
const END = 80 * S;
const MIDDLE = {start: 20 * S, end: 40 * S};

test("zooming keeps the moment under the pointer", () => {
  const near = zoomed(MIDDLE, 0.5, 25 * S, END);
  assert.equal(near.end - near.start, 10 * S);
  assert.equal(pixelOf(25 * S, near, 800), pixelOf(25 * S, MIDDLE, 800));
});

test("no zoom leaves the run", () => {
  assert.deepEqual(zoomed(MIDDLE, 100, 25 * S, END), {start: 0, end: END});
  const shortest = zoomed(MIDDLE, 1e-9, 25 * S, END);
  assert.equal(shortest.end - shortest.start, SHORTEST);
});

test("a window stops at the ends of the run", () => {
  assert.deepEqual(moved(MIDDLE, -100 * S, END), {start: 0, end: 20 * S});
  assert.deepEqual(moved(MIDDLE, 100 * S, END), {start: 60 * S, end: END});
  assert.deepEqual(centred(MIDDLE, 50 * S, END), {start: 40 * S, end: 60 * S});
});

test("a path fits with room on both sides", () => {
  const window = fitted({from: 40 * S, to: 70 * S}, END);
  assert.ok(window.start < 40 * S && window.end > 70 * S);
  assert.ok(window.end - window.start < 35 * S);
});

test("edges of a window do not cross", () => {
  assert.deepEqual(stretched(MIDDLE, "end", 30 * S, END), {start: 20 * S, end: 30 * S});
  assert.deepEqual(stretched(MIDDLE, "start", 60 * S, END), {start: 40 * S - SHORTEST, end: 40 * S});
});

test("moments and pixels are inverse", () => {
  for (const pixel of [0, 123, 800]) assert.equal(pixelOf(momentAt(pixel, MIDDLE, 800), MIDDLE, 800), pixel);
  assert.deepEqual(wholeOf(0), {start: 0, end: SHORTEST});
});

test("ticks are round and not too close", () => {
  assert.deepEqual(roundMoments({start: 38 * S, end: 72 * S}, 800), [
    40 * S,
    45 * S,
    50 * S,
    55 * S,
    60 * S,
    65 * S,
    70 * S,
  ]);
  for (const length of [1e5, 1e7, 3e9, 9e9, 9e11, 1e14]) {
    const ticks = roundMoments({start: 0, end: length}, 800);
    assert.ok(ticks.length >= 2 && ticks.length <= 8, `${length}: ${ticks.length}`);
  }
});
