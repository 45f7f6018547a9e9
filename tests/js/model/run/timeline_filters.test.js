import assert from "node:assert/strict";
import {test} from "node:test";

import {filterQuery, filtersIn, knownAgain, shownRows} from "../../../../static/js/model/run/timeline_filters.js";

const events = (...seqs) => seqs.map((seq) => ({seq}));
const seqs = (rows) => rows.map(({event, isLater}) => (isLater ? -event.seq : event.seq));

test("the address holds the filters and the order", () => {
  assert.deepEqual(filtersIn("?kind=PodBound&seq=9"), {
    kind: "PodBound",
    object: "",
    component: "",
    from: "",
    to: "",
    kubernetes: "",
    order: "desc",
  });
  assert.equal(filtersIn("?order=asc").order, "asc");
});

test("times are asked for in nanoseconds", () => {
  const {query, problem} = filterQuery(filtersIn("?from=1.5&to=2"));
  assert.deepEqual([query.from, query.to, problem], [1.5e9, 2e9, ""]);
});

test("a wrong time is reported", () => {
  assert.match(filterQuery(filtersIn("?from=soon")).problem, /From is “soon”/);
});

test("events after the one shown are left out", () => {
  assert.deepEqual(seqs(shownRows({rows: events(9, 8, 7, 6), later: null, next: null}, "desc", 7)), [7, 6]);
});

test("later events are greyed in order of time", () => {
  const held = {rows: events(7, 6), later: events(8, 9), next: null};
  assert.deepEqual(seqs(shownRows(held, "desc", 7)), [-9, -8, 7, 6]);
  assert.deepEqual(seqs(shownRows({...held, rows: events(6, 7)}, "asc", 7)), [6, 7, -8, -9]);
});

test("oldest first, later events follow the full list", () => {
  const held = {rows: events(1, 2), later: events(8), next: 2};
  assert.deepEqual(seqs(shownRows(held, "asc", 7)), [1, 2]);
});

test("events that are read again are the same", () => {
  const [known, newer] = [events(3, 2, 1), events(4, 3, 2)];
  const again = knownAgain(known, newer);
  assert.deepEqual(again, newer);
  assert.deepEqual([again[0] === newer[0], again[1] === known[0], again[2] === known[1]], [true, true, true]);
});
