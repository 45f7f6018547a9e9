import assert from "node:assert/strict";
import {test} from "node:test";

import {firstOf, oneOf, pagesOf, rowsThere} from "../../../../static/js/model/run/rows.js";

const WINDOW = {seq: 5, rows: [{id: "pod/a/1"}, {id: "pod/a/2"}, {id: "pod/a/3"}]};
const entities = new Map([
  ["pod/a/1", {attempts: 1}],
  ["pod/a/3", {attempts: 3}],
]);

test("rows show the event shown in their old order", () => {
  assert.deepEqual(rowsThere(WINDOW, {entities, seq: 5}), [
    ["pod/a/1", {attempts: 1}],
    ["pod/a/3", {attempts: 3}],
  ]);
});

test("a row that is gone since keeps its place", () => {
  const ids = rowsThere(WINDOW, {entities, seq: 6}).map(([id, pod]) => [id, pod?.attempts]);
  assert.deepEqual(ids, [
    ["pod/a/1", 1],
    ["pod/a/2", undefined],
    ["pod/a/3", 3],
  ]);
});

test("an object of a later event has no row", () => {
  assert.equal(rowsThere(WINDOW, {entities, seq: 4}).length, 2);
});

test("pages of the address are places of rows", () => {
  assert.deepEqual(
    ["", "1", "3", "-2", "x"].map((page) => firstOf(page, 200)),
    [0, 0, 400, 0, 0],
  );
  assert.deepEqual(pagesOf({first: 400, found: 401}, 200), {page: 2, pages: 3});
  assert.deepEqual(pagesOf({first: 0, found: 0}, 200), {page: 0, pages: 1});
});

test("an unknown value of the address is none", () => {
  assert.deepEqual([oneOf(["name"], "name"), oneOf(["name"], "zone")], ["name", ""]);
});
