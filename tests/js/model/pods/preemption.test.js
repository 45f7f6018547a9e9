import assert from "node:assert/strict";
import {test} from "node:test";

import {nodesWithoutHelp, preemptionNote, candidatesOf} from "../../../../static/js/model/pods/preemption.js";

const costs = (violations, highest, sum, victims, start) => ({
  "fewest PDB violations": violations,
  "lowest highest priority": highest,
  "smallest priority sum": sum,
  "fewest victims": victims,
  "latest start time": start,
});
const one = 2 ** 31;
const preemption = {
  node: "n2",
  candidates: {
    n1: {victims: ["a/p1"], reprieved: [], costs: costs(1, 100, one + 100, 1, 5e9)},
    n2: {victims: ["a/p2"], reprieved: ["a/p9"], costs: costs(0, 100, one + 100, 1, null)},
    n3: {victims: ["a/p3", "a/p4"], reprieved: [], costs: costs(0, 100, 2 * one + 200, 2, 21.4e9)},
  },
  rungs: [
    {rung: "fewest PDB violations", left: ["n2", "n3"]},
    {rung: "lowest highest priority", left: ["n2", "n3"]},
    {rung: "smallest priority sum", left: ["n2"]},
  ],
  hopeless: {n4: ["Insufficient cpu"], n5: ["Insufficient cpu"], n6: ["No preemption victims found for incoming pod"]},
};

test("the table shows what eliminated each candidate", () => {
  const {rows, left} = candidatesOf(preemption);
  assert.deepEqual(
    rows.map(({node}) => node),
    ["n2", "n3", "n1"],
  );
  assert.deepEqual(
    rows.map(({cells}) => cells.map(({state}) => state).join(" ")),
    ["in in in in in", "in in out gone gone", "out gone gone gone gone"],
  );
  assert.deepEqual(left, [2, 2, 1, null, null]);
});

test("priority sums show upstream's offset per victim", () => {
  const [chosen, second] = candidatesOf(preemption).rows;
  assert.equal(chosen.cells[2].text, "2³¹ + 100");
  assert.equal(second.cells[2].text, "2 · 2³¹ + 200");
  assert.equal(chosen.cells[4].text, "not started");
});

test("the title names the deciding criterion", () => {
  assert.equal(preemptionNote(preemption), "3 candidates, n2 chosen by criterion 3");
  assert.equal(preemptionNote({candidates: {}, rungs: [], node: null}), "0 candidates");
  const single = {
    candidates: {n1: preemption.candidates.n1},
    rungs: [{rung: "fewest PDB violations", left: ["n1"]}],
    node: "n1",
  };
  assert.equal(preemptionNote(single), "1 candidate, n1 chosen");
});

test("a candidate without victims wins at once", () => {
  const free = {
    node: "n1",
    candidates: {n1: {victims: [], costs: {}}, n2: preemption.candidates.n2},
    rungs: [{rung: "no victims", left: ["n1"]}],
  };
  assert.equal(preemptionNote(free), "2 candidates, n1 needs no evictions");
  assert.equal(candidatesOf(free).rows[0].node, "n1");
});

test("a candidate that an extender took out is named", () => {
  const asked = {...preemption, rungs: [{rung: "extenders", left: ["n1", "n2"]}, ...preemption.rungs]};
  const {rows} = candidatesOf(asked);
  assert.deepEqual(
    [rows[2].node, rows[2].cells[0], rows[2].cells[1].state],
    ["n3", {text: "extender", state: "out"}, "gone"],
  );
  assert.equal(preemptionNote(asked), "3 candidates, 1 taken out by an extender, n2 chosen by criterion 3");
});

test("nodes that preemption cannot help are counted", () => {
  assert.deepEqual(nodesWithoutHelp(preemption), [
    ["Insufficient cpu", 2],
    ["No preemption victims found for incoming pod", 1],
  ]);
});
