import assert from "node:assert/strict";
import {test} from "node:test";

import {
  Histogram,
  markLook,
  parseMoment,
  parseSeconds,
  parseSeq,
  partOf,
  ticks,
  ticksBetween,
} from "../../../../static/js/model/run/timeline.js";
import {moment} from "../../../../static/js/model/shared/format.js";

const SECOND = 1e9;
const total = (histogram) => histogram.counts.reduce((sum, count) => sum + count, 0);

test("later events are added to the server's counts", () => {
  const histogram = new Histogram();
  histogram.reset({to: 10 * SECOND, counts: [4, 0, 6, 0, 1]});
  histogram.add(11 * SECOND, 3);
  assert.deepEqual(histogram.counts, [4, 0, 6, 0, 1, 3]);
  assert.equal(histogram.to, 11 * SECOND);
});

test("a long run widens its buckets", () => {
  const histogram = new Histogram();
  histogram.reset({to: SECOND, counts: Array(120).fill(1)});
  for (let at = SECOND; at < 1000 * SECOND; at += SECOND) histogram.add(at, 5);
  assert.ok(histogram.counts.length <= 160);
  assert.equal(total(histogram), 120 + 999 * 5);
});

test("bars are scaled to the axis", () => {
  const histogram = new Histogram();
  histogram.reset({to: 4 * SECOND, counts: [1, 0, 9, 4]});
  const bars = histogram.bars();
  assert.equal(bars.length, 3);
  assert.equal(Math.max(...bars.map(({height}) => height)), 1);
  assert.ok(bars.every(({x, width}) => x >= 0 && x + width <= 1 + 1e-9));
});

test("a run without events has no bars", () => {
  assert.deepEqual(new Histogram().bars(), []);
});

test("ticks are round, the last is the end", () => {
  assert.deepEqual(
    ticks(61.9 * SECOND).map(({at}) => at / SECOND),
    [0, 10, 20, 30, 40, 50, 61.9],
  );
  assert.deepEqual(ticks(0), [{at: 0, part: 0, last: false}]);
  assert.deepEqual(ticks(1), ticks(0));
  for (const end of [5e6, 3e9, 7.3e11, 9e13, 4e15]) assert.ok(ticks(end).length <= 9, `${end}`);
});

test("ticks between two moments are round too", () => {
  const found = ticksBetween(42.05 * SECOND, 47.02 * SECOND);
  assert.deepEqual(
    found.slice(0, 2).map(({at}) => at / SECOND),
    [43, 44],
  );
  assert.deepEqual(found.at(-1), {at: 47.02 * SECOND, part: 1, last: true});
});

test("a moment beyond the axis is clamped", () => {
  assert.equal(partOf(5, 10), 0.5);
  assert.equal(partOf(15, 10), 1);
  assert.equal(partOf(5, 0), 0);
});

test("typed moments and seqs are parsed", () => {
  assert.equal(parseSeconds("42.35"), 42.35 * SECOND);
  assert.equal(parseSeconds(" 42,35 s "), 42.35 * SECOND);
  assert.equal(parseSeconds("-1"), null);
  assert.equal(parseSeconds("soon"), null);
  assert.equal(parseSeconds(""), null);
  assert.equal(parseSeconds("5m30s"), 330 * SECOND);
  assert.equal(parseSeconds("1m"), 60 * SECOND);
  assert.equal(parseSeconds("1h 2m 3.5s"), 3723.5 * SECOND);
  assert.equal(parseSeconds("m"), null);
  assert.equal(parseSeq("1,284"), 1284);
  assert.equal(parseSeq("12.5"), null);
});

test("the time that is shown leads to the event that is shown", () => {
  for (const at of [20804139000, 20803500000, 42 * SECOND]) {
    const wanted = parseMoment(moment(at));
    assert.ok(wanted >= at && wanted <= at + SECOND / 1000, `${at}`);
  }
  assert.equal(parseMoment("20.804139"), 20804139000);
  assert.equal(parseMoment("soon"), null);
});

test("marks distinguish failures, promises and bindings", () => {
  assert.equal(markLook("ProvisioningFailed").family, "stuck");
  assert.equal(markLook("PodNominated").family, "promised");
  assert.equal(markLook("ClaimBound").family, "settled");
  assert.deepEqual(markLook("NodeAdded"), {mark: "dia", family: "held"});
});
