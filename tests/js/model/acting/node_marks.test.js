import assert from "node:assert/strict";
import {test} from "node:test";

import {
  labelPatch,
  labelRows,
  marksCommand,
  taintPatch,
  taintRows,
} from "../../../../static/js/model/acting/node_marks.js";

const TAINTS = [{key: "a", value: "1", effect: "NoExecute", timeAdded: "2026-01-01T00:00:00Z"}];

test("a label that is removed is null in the patch", () => {
  const rows = labelRows({zone: "a", old: "x"}).filter(({key}) => key !== "old");
  assert.deepEqual(labelPatch({zone: "a", old: "x"}, [...rows, {key: " new ", value: "y"}]), {
    metadata: {labels: {old: null, new: "y"}},
  });
});

test("without a change there is no command", () => {
  assert.equal(labelPatch({zone: "a"}, labelRows({zone: "a"})), null);
  assert.equal(taintPatch(TAINTS, taintRows(TAINTS)), null);
  assert.equal(marksCommand("node/n1", null, null), null);
});

test("a taint that stays keeps its time", () => {
  const rows = [...taintRows(TAINTS), {key: "b", value: "", effect: "NoSchedule"}];
  assert.deepEqual(taintPatch(TAINTS, rows), {spec: {taints: [TAINTS[0], {key: "b", effect: "NoSchedule"}]}});
});

test("another effect is another taint", () => {
  const rows = [{key: "a", value: "1", effect: "NoSchedule"}];
  assert.deepEqual(taintPatch(TAINTS, rows), {spec: {taints: [{key: "a", value: "1", effect: "NoSchedule"}]}});
});

test("labels and taints go in one command", () => {
  const command = marksCommand("node/n1", {metadata: {labels: {a: "b"}}}, {spec: {taints: []}});
  assert.deepEqual(command, {
    verb: "patch",
    object: "node/n1",
    patch: {metadata: {labels: {a: "b"}}, spec: {taints: []}},
  });
});
