import assert from "node:assert/strict";
import {test} from "node:test";

import {groupOf, isLarge, isWhole, joined, split, trialState} from "../../../../static/js/model/triage/answer.js";

const group = (fields) => ({
  kind: "pending",
  pods: [],
  pods_missing: 0,
  claims: [],
  nodes: [],
  namespaces: [],
  objects: [],
  workloads: [],
  changes: [],
  conclusion: "",
  ...fields,
});
const causes = {is_whole: false, looked_at: {node: 3}, together: null, groups: [group({}), group({kind: "claim"})]};

test("changes join the group that they are for", () => {
  const found = joined(joined(null, causes), {group: 1, changes: [{text: "Add a node"}], conclusion: ""});
  assert.deepEqual(
    found.groups.map(({changes}) => changes.length),
    [0, 1],
  );
});

test("an answer is whole with what helps together", () => {
  assert.equal(isWhole(causes), false);
  assert.equal(isWhole({group: 0, changes: [], conclusion: ""}), false);
  assert.equal(isWhole({together: null}), true);
  assert.equal(isWhole({...causes, is_whole: true}), true);
});

test("groups keep their places when they are split", () => {
  const {pending, others} = split(causes);
  assert.deepEqual([pending[0].place, others[0].place], [0, 1]);
});

test("a cluster of many nodes has lines", () => {
  assert.equal(isLarge(causes), false);
  assert.equal(isLarge({...causes, looked_at: {node: 5000}}), true);
  assert.equal(isLarge({...causes, groups: [group({pods: Array(61).fill("a/b")})]}), true);
});

test("a trial waits until its answer has come", () => {
  assert.equal(trialState(group({}), "trying"), "waits");
  assert.equal(trialState(group({isAnswered: true}), "trying"), "tried");
  assert.equal(trialState(group({conclusion: "None helps."}), "trying"), "tried");
  assert.equal(trialState(group({}), "failed"), "failed");
  assert.equal(trialState(group({}), "ready"), "tried");
});

test("a pod is found by its whole name first", () => {
  const triage = {groups: [group({pods: ["shop/web-11"]}), group({pods: ["shop/web-1"]})]};
  assert.equal(groupOf(triage, "web-1"), 1);
  assert.equal(groupOf(triage, "web-11"), 0);
  assert.equal(groupOf(triage, "WEB"), 0);
  assert.equal(groupOf(triage, "other"), -1);
  assert.equal(groupOf(triage, " "), -1);
});
