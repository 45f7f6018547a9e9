import assert from "node:assert/strict";
import {test} from "node:test";

import {
  age,
  clock,
  marked,
  nodesTitle,
  observation,
  pageId,
  splitCause,
  verdict,
  workloadParts,
} from "../../../../static/js/model/triage/words.js";

test("a cause has a first sentence", () => {
  assert.deepEqual(splitCause("The pod fits none of 2 nodes (1.5 of 2.0 free). Container c asks for 3."), [
    "The pod fits none of 2 nodes (1.5 of 2.0 free).",
    "Container c asks for 3.",
  ]);
  assert.deepEqual(splitCause("It is gone."), ["It is gone.", ""]);
});

test("an Event has a source and a message", () => {
  const text = "Event FailedScheduling ×7 on 2 pods, last 2026-11-27T14:18:00.95Z: 0/1 nodes: 1 Insufficient cpu.";
  assert.deepEqual(observation(text), {
    source: "Event FailedScheduling ×7 on 2 pods, last 14:18:00 UTC",
    message: "0/1 nodes: 1 Insufficient cpu.",
    isNothing: false,
  });
});

test("only what both say can agree", () => {
  const said = {observed: "Event FailedScheduling: no", predicted: "The same.", contradicts: false};
  assert.equal(verdict(said).sign, "=");
  assert.equal(verdict({...said, contradicts: true}).sign, "≠");
  assert.equal(verdict({...said, observed: ""}).sign, "?");
  assert.equal(verdict({...said, observed: "No Event and no condition of these pods."}).sign, "?");
  assert.equal(verdict({...said, predicted: ""}).sign, "?");
});

test("the words about the closest node are marked", () => {
  const closest = (fields) => ({nodes_by_reason: [{is_closest: true, reason: "", check: null, ...fields}]});
  const message = "0/8 nodes are available: 2 node(s) had untolerated taint {gpu: yes}, 6 Insufficient memory.";
  assert.equal(marked(message, closest({check: {unit: "memory"}}))[1], "6 Insufficient memory");
  assert.equal(marked(message, closest({reason: "taint gpu"}))[1], "{gpu: yes}");
  assert.deepEqual(marked(message, closest({reason: "no device"})), [message, "", ""]);
});

test("nodes are called after what their names begin with", () => {
  assert.equal(nodesTitle({nodes: ["general-a1", "general-b3"], count: 6}), "6 general");
  assert.equal(nodesTitle({nodes: ["gpu-a1", "gpu-a2"], count: 2}), "2 gpu");
  assert.equal(nodesTitle({nodes: ["gke-prod-cpu-00", "gke-prod-cpu-05"], count: 6}), "6 gke-prod-cpu");
  assert.equal(nodesTitle({nodes: ["a", "b"], count: 2}), "2 nodes");
  assert.equal(nodesTitle({nodes: ["general-c1"], count: 1}), "general-c1");
});

test("only one object has a page", () => {
  assert.equal(pageId("deployment shop/web"), "deployment/shop/web");
  assert.equal(pageId("persistentvolumeclaim/shop/data"), "claim/shop/data");
  assert.equal(pageId("node a1, a2"), "");
  assert.equal(pageId("daemonset a/b (driver c)"), "");
  assert.equal(pageId("secret shop/key"), "");
  assert.equal(workloadParts("pod/shop/web-*").id, "");
});

test("lengths and times are short", () => {
  assert.deepEqual([0.5, 47, 79, 1500].map(age), ["30 s", "47 min", "1 h 19", "1 d 1 h"]);
  assert.equal(clock("2026-11-27T13:05:06Z", "2026-11-27T14:20:00Z"), "13:05 UTC");
  assert.equal(clock("2026-11-26T13:05:06Z", "2026-11-27T14:20:00Z"), "2026-11-26 13:05 UTC");
  assert.equal(clock("", "2026-11-27T14:20:00Z"), "");
});
