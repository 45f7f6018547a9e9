import assert from "node:assert/strict";
import {test} from "node:test";

import {nodeAnswer} from "../../../../static/js/model/nodes/node_answer.js";
import {
  conditionsOf,
  holdersOf,
  imagesOf,
  nodeFacts,
  resourcesOf,
  shortage,
} from "../../../../static/js/model/nodes/node_facts.js";
import {podsOf} from "../../../../static/js/model/nodes/node_pods.js";

const SECOND = 1e9;
const DISK = "kubernetes.io/csi/disk.csi.example.com^d1";
const READY = {ready: true, zone: "z1", allocatable: {cpu: 4000, memory: 1024, pods: 3}};
const NOBODY = new Map();
const modelOf = (node) => ({entities: new Map([["node/n1", node]]), nodes: {pods: new Map()}, at: 0});

function waiting(operation) {
  const volume = {name: "d1", attachable: true, desired: {"shop/web": SECOND}, operations: {"*": operation}};
  return {...READY, volumes: {[DISK]: volume}};
}

test("a NotReady node counts its bound pods", () => {
  const pods = new Map([
    ["pod/shop/web", {node: "n1"}],
    ["pod/shop/api", {nominated: "n1"}],
  ]);
  const {family, sentence, figure} = nodeAnswer("n1", {...READY, ready: false}, pods, 0);
  assert.equal(family, "stuck");
  assert.match(sentence, /^n1 is not Ready/);
  assert.deepEqual(figure, {value: "1", words: "pod is bound here"});
});

test("a failed operation names pod, count, error and retry", () => {
  const error = 'MountVolume.MountDevice failed for volume "d1" : wrong fs type';
  const failed = {name: "volume_mount", failures: 4, error, failed: 6 * SECOND, retry_at: 10 * SECOND};
  assert.deepEqual(nodeAnswer("n1", waiting(failed), NOBODY, 8 * SECOND), {
    state: "failing",
    mark: "backoff",
    words: "MountDevice of d1 failed 4 times, next try at 10.000 s",
    family: "stuck",
    pod: "pod/shop/web",
    sentence: "web cannot start: MountDevice of d1 failed 4 times, next try at 10.000 s: wrong fs type.",
    figure: {value: "2.000", words: "s until the next retry"},
  });
});

test("a pod waiting for its volume is not stuck", () => {
  const {family, sentence, figure} = nodeAnswer(
    "n1",
    waiting({name: "volume_mount", started: SECOND}),
    NOBODY,
    3 * SECOND,
  );
  assert.deepEqual([family, sentence, figure.value], ["clock", "shop/web waits for d1.", "2.000"]);
});

test("an unneeded volume is reported after its unmount is late", () => {
  const attachment = {name: "d1", attached: true, mounted_by_node: true, detach_requested: 0, deadline: 360 * SECOND};
  const node = {...READY, attachments: {[DISK]: attachment}};
  assert.equal(nodeAnswer("n1", node, NOBODY, SECOND).family, "settled");
  const {family, figure} = nodeAnswer("n1", node, NOBODY, 60 * SECOND);
  assert.deepEqual([family, figure.value], ["stuck", "300.000"]);
});

test("pressure and cordons are reported", () => {
  const pressed = {...READY, taints: [{key: "node.kubernetes.io/memory-pressure", effect: "NoSchedule"}]};
  assert.match(nodeAnswer("n1", pressed, NOBODY, 0).sentence, /is short of memory/);
  assert.equal(nodeAnswer("n1", {...READY, unschedulable: true}, NOBODY, 0).family, "held");
  assert.equal(nodeAnswer("n1", READY, NOBODY, 0).family, "settled");
});

test("a multi-attach error names the other node", () => {
  const wants = {name: "d1", desired: {"shop/web": 0}, multi_attach_error_reported: true};
  const node = {...READY, attachments: {[DISK]: wants}};
  assert.match(nodeAnswer("n1", node, NOBODY, 0).sentence, /is attached to another node/);
  const entities = new Map([
    ["node/n1", node],
    ["node/n2", {attachments: {[DISK]: {attached: true}}}],
    ["node/n3", {}],
  ]);
  assert.deepEqual(holdersOf(entities, DISK, "n1"), ["n2"]);
});

test("resources show requested, assumed, allocatable and free", () => {
  const node = {...READY, requested: {cpu: 4500, pods: 1}, assumed: {cpu: 500}, attachments: {[DISK]: {name: "d1"}}};
  const rows = resourcesOf(node, {"disk.csi.example.com": 8, "other.example.com": 2});
  assert.deepEqual(
    rows.map(({title, requested, assumed, allocatable, free}) => [title, requested, assumed, allocatable, free]),
    [
      ["CPU", 4500, 500, 4000, -500],
      ["Memory", 0, 0, 1024, 1024],
      ["Pods", 1, 0, 3, 2],
      ["Attachable volumes, disk.csi.example.com", 1, 0, 8, 7],
      ["Attachable volumes, other.example.com", 0, 0, 2, 2],
    ],
  );
  assert.deepEqual(shortage({requests: {cpu: 100}}, node), {resource: "cpu", asked: 100, free: -500});
  assert.equal(shortage({requests: {memory: 24}}, {...READY}), null);
});

test("pods waiting for a volume come first", () => {
  const pods = new Map([
    ["pod/shop/api", {node: "n1", phase: "Running"}],
    ["pod/shop/web", {node: "n1", phase: "Pending"}],
    ["pod/shop/soon", {nominated: "n1"}],
    ["pod/shop/old", {node: "n1", phase: "Running", deleting: 5}],
  ]);
  const rows = podsOf("n1", pods, modelOf(waiting({name: "volume_mount", started: 0})));
  assert.deepEqual(
    rows.map(({id, health}) => [id, health.words]),
    [
      ["pod/shop/web", "waits for the attach of d1"],
      ["pod/shop/old", "terminating"],
      ["pod/shop/soon", "nominated to n1"],
      ["pod/shop/api", "bound to n1"],
    ],
  );
});

const ATTACHED = {name: "d1", attached: true, desired: {"shop/web": SECOND}};

test("a pod that mounts nothing waits for nothing", () => {
  // The controller attaches what the pod names; the kubelet mounts, and waits for, nothing.
  const node = {...READY, attachments: {[DISK]: ATTACHED}};
  const pods = new Map([["pod/shop/web", {node: "n1", phase: "Running"}]]);
  const {family, sentence} = nodeAnswer("n1", node, pods, 1208 * SECOND);
  assert.deepEqual(
    [family, sentence],
    [
      "settled",
      "Nothing is stuck here; every volume that a pod needs is attached, and mounted if a container mounts it.",
    ],
  );
  assert.deepEqual(
    podsOf("n1", pods, modelOf(node)).map(({health}) => health.words),
    ["bound to n1"],
  );
});

test("an attached volume is called attached", () => {
  const node = {
    ...READY,
    attachments: {[DISK]: {...ATTACHED, attached: undefined, operation: {name: "volume_attach", started: SECOND}}},
  };
  for (const phase of ["Pending", "Running"]) {
    const pods = new Map([["pod/shop/web", {node: "n1", phase}]]);
    assert.equal(nodeAnswer("n1", node, pods, 2 * SECOND).sentence, "d1 is being attached for shop/web.");
  }
});

test("a running pod does not wait for volumes", () => {
  const pods = new Map([["pod/shop/web", {node: "n1", phase: "Running"}]]);
  const mounts = waiting({name: "volume_mount", started: SECOND});
  assert.equal(
    nodeAnswer("n1", mounts, pods, 3 * SECOND).sentence,
    "Nothing is stuck here; d1 is mounted again for shop/web, which runs.",
  );
  const error = 'MountVolume.SetUp failed for volume "d1" : no';
  const fails = waiting({name: "volume_mount", failures: 2, error, failed: 0, retry_at: 10 * SECOND});
  assert.equal(
    nodeAnswer("n1", fails, pods, 3 * SECOND).sentence,
    "shop/web needs it: SetUp of d1 failed 2 times, next try at 10.000 s: no.",
  );
});

test("the headline has zone, taints and volume status", () => {
  const node = {...READY, taints: [{key: "gpu", value: "a", effect: "NoSchedule"}], volumes_in_use: [DISK]};
  assert.equal(nodeFacts(node), "zone z1 · gpu=a:NoSchedule · volumesInUse: 1 · volumesAttached: 0");
});

test("conditions that hold badly come first", () => {
  const conditions = [
    {type: "MemoryPressure", status: "False"},
    {type: "Ready", status: "Unknown", reason: "NodeStatusUnknown"},
    {type: "DiskPressure", status: "True"},
  ];
  assert.deepEqual(
    conditionsOf({status: {conditions}}).map(({type, family}) => [type, family]),
    [
      ["Ready", "stuck"],
      ["DiskPressure", "stuck"],
      ["MemoryPressure", "settled"],
    ],
  );
});

test("an image goes by its shortest name", () => {
  const images = [
    {names: ["small:1"], sizeBytes: 10},
    {names: ["registry/app@sha256:ab", "registry/app:1"], sizeBytes: 20},
  ];
  assert.deepEqual(imagesOf({status: {images}}), [
    {name: "registry/app:1", others: ["registry/app@sha256:ab"], size: 20},
    {name: "small:1", others: [], size: 10},
  ]);
});
