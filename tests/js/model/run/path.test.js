import assert from "node:assert/strict";
import {test} from "node:test";

import {pathExtent, pathParts, pathTitle, share, stepTitle, sumTitle} from "../../../../static/js/model/run/path.js";

const step = (name, from, to, more = {}) => ({name, from, to, object: "pod/a/p", objects: ["pod/a/p"], ...more});
const PATH = {
  pod: "pod/shop/ledger-3",
  from: 40e9,
  to: 50e9,
  open: false,
  steps: [step("attempt", 40e9, 41e9, {attempt: 1}), step("grace", 41e9, 50e9)],
};

test("a step is named after what was waited for", () => {
  const names = [
    step("attempt", 0, 1, {attempt: 7}),
    step("grace", 0, 1, {objects: ["pod/shop/web-21", "pod/ci/build-48"]}),
    step("overtaken", 0, 1, {object: "pod/shop/payments-5"}),
    step("attach", 0, 1, {object: "node/node-b2"}),
    step("backoff", 0, 1),
  ].map(stepTitle);
  assert.deepEqual(names, [
    "attempt 7",
    "grace of web-21, build-48",
    "overtaken by payments-5",
    "attach to node-b2",
    "backoff",
  ]);
});

test("parts of the strip fill it in order", () => {
  assert.deepEqual(
    pathParts(PATH).map(({left, width}) => [left, width]),
    [
      [0, 10],
      [10, 90],
    ],
  );
});

test("the heading says whether it still waits", () => {
  assert.equal(pathTitle(PATH), "Why did ledger-3 take 10.00 s?");
  assert.equal(pathTitle({...PATH, open: true}), "Why has ledger-3 waited for 10.00 s?");
  assert.equal(pathExtent({...PATH, open: true}), "created 40.000 s → now 50.000 s");
});

test("a small share is not none", () => {
  assert.deepEqual([share(5.6e9, PATH), share(1e6, PATH)], ["56 %", "<1 %"]);
});

test("every name of a step has a title", () => {
  const names =
    "gated queue attempt grace overtaken room unschedulable backoff binding attach kubelet mount volumes start";
  for (const name of names.split(" ")) assert.ok(sumTitle(name), name);
});
