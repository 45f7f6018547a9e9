import assert from "node:assert/strict";
import {test} from "node:test";

import {Counters} from "../../../static/js/model/counters.js";

const SECOND = 1e9;

test("the rate is how many pods were bound within the last second", () => {
  const counters = new Counters();
  for (let i = 0; i <= 100; i += 1) counters.add(i * SECOND * 0.25, i, 0, 0, 0);
  assert.equal(counters.series(1, 25 * SECOND).at(-1), 4);
});

test("a lane keeps its size between samples", () => {
  const counters = new Counters();
  counters.add(0, 0, 3, 0, 0);
  counters.add(10 * SECOND, 0, 8, 0, 0);
  const series = counters.series(2, 20 * SECOND, 5);
  assert.deepEqual(series, [3, 3, 8, 8, 8]);
});

test("what was not seen is not known, which is not zero", () => {
  const counters = new Counters();
  counters.add(100 * SECOND, 5, 5, 5, 5);
  assert.deepEqual(counters.series(2, 100 * SECOND, 3), [null, null, 5]);
  assert.equal(counters.series(1, 100 * SECOND, 3).at(-1), null);
  assert.equal(counters.covers(100 * SECOND), false);
});

test("older samples are put before those at hand", () => {
  const counters = new Counters();
  counters.add(100 * SECOND, 9, 0, 0, 0);
  counters.prepend([[70 * SECOND, 1, 0, 0, 0], [99.5 * SECOND, 5, 0, 0, 0], [100 * SECOND, 9, 0, 0, 0]]);
  assert.equal(counters.covers(100 * SECOND), true);
  assert.equal(counters.series(1, 100 * SECOND).at(-1), 8);
});

test("a run of many samples keeps a bounded number and its newest value", () => {
  const counters = new Counters();
  for (let i = 0; i < 50000; i += 1) counters.add(i * 1e6, i, i, 0, 0);
  assert.ok(counters.samples.length <= 4001);
  assert.equal(counters.series(2, 49999 * 1e6).at(-1), 49999);
});

test("stepping back forgets what came later", () => {
  const counters = new Counters();
  counters.add(SECOND, 0, 1, 0, 0);
  counters.add(2 * SECOND, 0, 2, 0, 0);
  counters.forget(SECOND);
  assert.equal(counters.series(2, 2 * SECOND).at(-1), 1);
});
