import assert from "node:assert/strict";
import {test} from "node:test";

import {filterQuery, filtersIn, shownRows} from "../../../../static/js/model/run/timeline_filters.js";

const events = (...seqs) => seqs.map((seq) => ({seq}));
const seqs = (rows) => rows.map(({event, isLater}) => (isLater ? -event.seq : event.seq));

test("the address says what is filtered by, newest first unless told", () => {
  assert.deepEqual(filtersIn("?kind=PodBound&seq=9"), {
    kind: "PodBound",
    object: "",
    component: "",
    from: "",
    to: "",
    order: "desc",
  });
  assert.equal(filtersIn("?order=asc").order, "asc");
});

test("times are asked for in nanoseconds", () => {
  const {query, problem} = filterQuery(filtersIn("?from=1.5&to=2"));
  assert.deepEqual([query.from, query.to, problem], [1.5e9, 2e9, ""]);
});

test("a time that is none is told instead of ignored", () => {
  assert.match(filterQuery(filtersIn("?from=soon")).problem, /From is “soon”/);
});

test("events after the one shown are left out", () => {
  assert.deepEqual(seqs(shownRows({rows: events(9, 8, 7, 6), later: null, next: null}, "desc", 7)), [7, 6]);
});

test("later events stand greyed where time goes on", () => {
  const held = {rows: events(7, 6), later: events(8, 9), next: null};
  assert.deepEqual(seqs(shownRows(held, "desc", 7)), [-9, -8, 7, 6]);
  assert.deepEqual(seqs(shownRows({...held, rows: events(6, 7)}, "asc", 7)), [6, 7, -8, -9]);
});

test("oldest first, later events wait until the list ends", () => {
  const held = {rows: events(1, 2), later: events(8), next: 2};
  assert.deepEqual(seqs(shownRows(held, "asc", 7)), [1, 2]);
});
