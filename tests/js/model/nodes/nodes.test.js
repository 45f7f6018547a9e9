import assert from "node:assert/strict";
import {test} from "node:test";

import {Nodes, fullness, hint, meters, tileState, wants} from "../../../../static/js/model/nodes/nodes.js";

const NODE = {
  zone: "a",
  allocatable: {cpu: 4000, memory: 1000, pods: 10},
  requested: {cpu: 2750, memory: 500, pods: 7},
};

test("zones and nodes are in natural order", () => {
  const nodes = new Nodes();
  for (const [name, zone] of [
    ["n10", "b"],
    ["n2", "b"],
    ["x", undefined],
    ["n1", "a"],
  ]) {
    nodes.updateNode(`node/${name}`, undefined, {zone});
  }
  assert.deepEqual(nodes.zones(), [
    {zone: "a", names: ["n1"]},
    {zone: "b", names: ["n2", "n10"]},
    {zone: "", names: ["x"]},
  ]);
});

test("a pod moves from its nominated node", () => {
  const nodes = new Nodes();
  const nominated = {nominated: "n1"};
  nodes.updatePod("pod/a/web", undefined, nominated);
  assert.deepEqual(
    nodes.tiles("n1").map(({state}) => state),
    ["nominated"],
  );
  nodes.updatePod("pod/a/web", nominated, {node: "n2"});
  assert.deepEqual(nodes.tiles("n1"), []);
  assert.deepEqual(
    nodes.tiles("n2").map(({state}) => state),
    ["bound"],
  );
});

test("only the affected nodes count as changed", () => {
  const nodes = new Nodes();
  const versions = () => ["n1", "n2", "n3"].map((name) => nodes.version(name));
  nodes.updatePod("pod/a/web", undefined, {node: "n1"});
  const before = versions();
  nodes.updatePod("pod/a/web", {node: "n1"}, {node: "n2"});
  assert.deepEqual(
    versions().map((version, i) => version > before[i]),
    [true, true, false],
  );
});

test("tiles show pods that hold a place", () => {
  assert.equal(tileState({node: "n"}), "bound");
  assert.equal(tileState({node: "n", deleting: 0}), "terminating");
  assert.equal(tileState({assumed: "n"}), "assumed");
  assert.equal(tileState({nominated: "n"}), "nominated");
  assert.equal(tileState({node: "n", phase: "Succeeded"}), null);
  assert.equal(tileState({queue: "active"}), null);
});

test("a meter shows the request past the end as a shortage", () => {
  const [cpu] = meters(NODE, {cpu: 1500});
  assert.equal(cpu.settled, 0.6875);
  assert.equal(cpu.wantFrom, 0.6875);
  assert.equal(cpu.want, 0.3125);
  assert.equal(cpu.short, 0.0625);
});

test("assumed requests are shown apart", () => {
  const [cpu] = meters({...NODE, assumed: {cpu: 750}});
  assert.equal(cpu.settled, 0.5);
  assert.equal(cpu.assumed, 0.1875);
  assert.equal(cpu.short, 0);
});

test("known attach limits have a meter", () => {
  assert.deepEqual(
    meters(NODE).map(({label}) => label),
    ["cpu", "mem", "pods"],
  );
  const node = {...NODE, allocatable: {...NODE.allocatable, "attachable-volumes-csi-ebs": 8}};
  assert.deepEqual(
    meters(node).map(({label}) => label),
    ["cpu", "mem", "pods", "vol"],
  );
});

test("a pod needs its requests and one slot", () => {
  assert.deepEqual(wants({requests: {cpu: 100}}), {cpu: 100, pods: 1});
  assert.equal(wants(null), null);
});

test("a node is as full as its fullest resource", () => {
  assert.equal(fullness(NODE), 0.7);
  assert.equal(fullness({}), 0);
});

test("the hint names a taint or the arrival", () => {
  const taints = [{key: "dedicated", value: "batch"}];
  const at = 40e9;
  assert.equal(hint({ready: true, taints}, at), "dedicated=batch");
  assert.equal(hint({ready: true, created: 36.2e9}, at), "joined 36.2 s");
  assert.equal(hint({ready: true, created: 0}, at), "");
  assert.equal(hint({ready: true, created: 28003575e9}, at), "");
});

test("a shared domain is left out of node names", () => {
  const nodes = new Nodes();
  nodes.updateNode("node/worker-1.eu.example.com", undefined, {});
  nodes.updateNode("node/worker-2.eu.example.com", undefined, {});
  assert.equal(nodes.label("worker-1.eu.example.com"), "worker-1");
  nodes.updateNode("node/worker-3.us.example.com", undefined, {});
  assert.equal(nodes.label("worker-1.eu.example.com"), "worker-1.eu.example.com");
});

test("meters show GPUs, devices and attach slots", () => {
  const node = {
    ...NODE,
    allocatable: {...NODE.allocatable, "nvidia.com/gpu": 4, "ephemeral-storage": 10},
    requested: {...NODE.requested, "nvidia.com/gpu": 1},
    attachments: {"kubernetes.io/csi/disk^d1": {}},
  };
  const rows = meters(node, null, {drivers: {disk: 8}, devices: 2, taken: 1}).slice(3);
  assert.deepEqual(
    rows.map(({label, requested, whole}) => [label, requested, whole]),
    [
      ["gpu", 1, 4],
      ["vol", 1, 8],
      ["dev", 1, 2],
    ],
  );
});
