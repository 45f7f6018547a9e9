import assert from "node:assert/strict";
import {test} from "node:test";

import {consentFor, drainLines} from "../../../../static/js/model/run/consent.js";

const DRAIN = [
  {verb: "cordon", object: "node/n1"},
  {verb: "evict_pods", object: "node/n1"},
];

test("a drain must be confirmed", () => {
  assert.deepEqual(consentFor({status: "paused"}, DRAIN), {
    title: "Drain n1?",
    button: "Drain",
    lines: [],
    drains: "n1",
  });
});

test("a deletion must be confirmed", () => {
  const asked = consentFor({status: "playing"}, [{verb: "delete", object: "pod/shop/web"}]);
  assert.equal(asked.title, "Delete shop/web?");
  assert.equal(asked.button, "Delete");
});

test("a harmless command is sent at once", () => {
  assert.equal(consentFor({status: "playing"}, [{verb: "cordon", object: "node/n1"}]), null);
  assert.equal(consentFor({status: "paused"}, [{verb: "patch", object: "pod/a/b", patch: {}}]), null);
});

test("changing a finished run must be confirmed", () => {
  const asked = consentFor({status: "finished", head_at: 77.8e9}, [{verb: "cordon", object: "node/n1"}]);
  assert.equal(asked.title, "Cordon n1?");
  assert.deepEqual(asked.lines, [
    "Cordons n1.",
    "The run is finished. This resumes it at 77.800 s, until nothing is left to do.",
  ]);
});

test("two commands are confirmed together", () => {
  const asked = consentFor({status: "paused"}, [
    {verb: "uncordon", object: "node/n"},
    {verb: "delete", object: "pod/a/p"},
  ]);
  assert.equal(asked.title, "Send these 2 changes?");
  assert.deepEqual(asked.lines, ["Uncordons n.", "Deletes a/p."]);
});

test("a drain counts evicted and protected pods", () => {
  const told = {
    evicted: 7,
    daemon: 1,
    budgets: [
      {name: "shop/web", pods: 3, allowed: 1},
      {name: "shop/db", pods: 1, allowed: 2},
    ],
  };
  assert.deepEqual(drainLines("n1", told), [
    "Cordons n1, then evicts 7 pods.",
    "1 pod of DaemonSets stays.",
    "The disruption budget shop/web covers 3 of them and allows 1: 2 pods may stay.",
    "The disruption budget shop/db covers 1 of them and allows all of them.",
  ]);
});
