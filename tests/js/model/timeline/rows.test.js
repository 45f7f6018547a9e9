import assert from "node:assert/strict";
import {test} from "node:test";

import {LEGEND, LOOKS} from "../../../../static/js/model/timeline/look.js";
import {labelOf, nextOf, rowsInSight, spokenOf, spread, stageText} from "../../../../static/js/model/timeline/rows.js";
import {notACause, sumDetail} from "../../../../static/js/model/timeline/summary.js";

const S = 1e9;
const POD = {
  key: "pod/shop/web-1",
  kind: "pod",
  name: "shop/web-1",
  waited: 3 * S,
  sums: {running: 2 * S, backoff: 3 * S},
};
const ATTEMPT = {
  name: "attempt",
  number: 7,
  start: 0,
  end: S,
  decided: "FailedScheduling",
  message: "0/1",
  node: "",
  victims: [],
  blocker: null,
};
const STEP = {from: 0, to: 8 * S, name: "grace", object: "pod/ci/b", objects: ["pod/ci/b"], attempt: null};
const PATH = {
  pod: "pod/shop/web-1",
  from: 0,
  to: 9 * S,
  open: false,
  steps: [STEP, {...STEP, from: 8 * S, to: 9 * S}],
  sums: [{name: "grace", sum: 9 * S}],
};

test("only rows in sight are asked for", () => {
  assert.deepEqual(rowsInSight(0, 440, 10_000), {first: 0, rows: 35});
  assert.deepEqual(rowsInSight(2200, 440, 10_000), {first: 85, rows: 50});
  assert.equal(rowsInSight(2200, 440, 101).rows, 16);
});

test("the name of a row has its sums, the largest first", () => {
  assert.equal(spokenOf(POD), "3.00 s waited, backoff 3.00 s, running 2.00 s");
  const group = {key: "group:shop/web", kind: "group", name: "shop/web", count: 3, waited: 4 * S};
  assert.equal(spokenOf(group), "3 pods, waited 4.00 s together");
});

test("the path is read out step by step", () => {
  const row = {key: "path", kind: "path", name: "path"};
  assert.equal(spokenOf(row, PATH), "9.00 s, grace b 8.00 s, grace b 1.00 s");
});

test("a label mutes what comes before the name", () => {
  assert.deepEqual(labelOf({...POD, in_path: true}), {
    space: "shop/",
    name: "web-1",
    right: "",
    indent: 0,
    opens: false,
  });
  const operation = {key: "attach/node-2/disk-1", kind: "operation", name: "node-2/disk-1"};
  assert.deepEqual(labelOf(operation), {space: "attach/", name: "disk-1", right: "node-2", indent: 1, opens: false});
});

test("an attempt says what it came to", () => {
  assert.equal(
    stageText({...ATTEMPT, victims: ["pod/ci/build-1", "pod/ci/build-2"]}),
    "no room; evicts build-1, build-2",
  );
  assert.equal(stageText({...ATTEMPT, blocker: {short: "cpu 500m short on node-1"}}), "cpu 500m short on node-1");
  assert.equal(
    stageText({...ATTEMPT, node: "node-1", message: "to node-1, 1 of 1 nodes fit"}),
    "to node-1, 1 of 1 nodes fit",
  );
  assert.equal(stageText({...ATTEMPT, decided: "", end: null}), "under way");
});

test("runs spread into one value for each part", () => {
  assert.deepEqual(spread([2, 0, 3, 5]), [0, 0, 5, 5, 5]);
});

test("the next event of a row is the nearest later one", () => {
  const row = {bars: [{start: 1}, {start: 5}], marks: [{at: 3}]};
  assert.equal(nextOf(row, 1), 3);
  assert.equal(nextOf(row, 3), 5);
  assert.equal(nextOf(row, 5), null);
});

test("a sum says what it is made of", () => {
  assert.equal(sumDetail(PATH, "grace"), "2 times: 8.00 s + 1.00 s");
  const once = {...PATH, steps: [{...STEP, name: "overtaken", object: "pod/shop/pay-1"}]};
  assert.equal(sumDetail(once, "overtaken"), "by pay-1");
});

test("backoff that made nothing longer is named", () => {
  assert.match(notACause(PATH, {backoff: 4 * S, unschedulable: 3 * S}), /fill 7.00 s .* None of it counts/);
  const counted = {...PATH, sums: [{name: "backoff", sum: 6 * S}]};
  assert.equal(notACause(counted, {backoff: 7 * S}), "");
});

test("every state of the legend has a look", () => {
  for (const {state, family} of LEGEND) assert.equal(LOOKS[state].family, family);
});
