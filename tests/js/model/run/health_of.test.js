import assert from "node:assert/strict";
import {test} from "node:test";

import {healthOf} from "../../../../static/js/model/run/health_of.js";
import {RunModel} from "../../../../static/js/model/run/run_model.js";

const ERROR = 'MountVolume.MountDevice failed for volume "d1" : wrong fs type';
const FAILED = {name: "volume_mount", failures: 5, error: ERROR, failed: 6e9, retry_at: 10e9};
const DISK = {name: "d1", attachable: true, attached: true, desired: {"shop/web": 1e9}, operations: {"*": FAILED}};
const STATE = {
  "node/n1": {ready: true, volumes: {disk: DISK}},
  "pod/shop/web": {node: "n1", phase: "Pending", claims: ["data"], owner: "web"},
  "pod/shop/other": {node: "n1", phase: "Running", owner: "web"},
  "statefulset/shop/web": {},
  "claim/shop/data": {phase: "Bound", volume: "d1"},
  "volume/d1": {phase: "Bound", claim: "shop/data"},
};

function modelOf(changes = {}) {
  const model = new RunModel();
  model.reset({seq: 1, at: 8e9, events: [], state: {...STATE, ...changes}});
  return model;
}

test("pod, claim, volume and node tell the same failure", () => {
  const model = modelOf();
  const told = ["pod/shop/web", "claim/shop/data", "volume/d1", "node/n1"].map((id) => healthOf(id, model));
  assert.deepEqual(new Set(told.map(({words}) => words)).size, 1);
  assert.deepEqual(new Set(told.map(({state, mark, family}) => `${state} ${mark} ${family}`)).size, 1);
  assert.match(told[0].words, /^MountDevice of d1 failed 5 times/);
  assert.deepEqual(model.claims.first(model, 1), ["claim/shop/data"]);
});

test("a workload has the health of its worst pods", () => {
  assert.equal(healthOf("statefulset/shop/web", modelOf()).words, "1 of 2 pods failing");
  const model = modelOf({"node/n1": {ready: false}});
  assert.equal(healthOf("statefulset/shop/web", model).words, "2 of 2 pods stuck");
});

test("all are well when the mount succeeds", () => {
  const mounted = {...DISK, operations: {}, mounts: {"shop/web": "VolumeMounted"}, device: "DeviceGloballyMounted"};
  const pod = {...STATE["pod/shop/web"], phase: "Running"};
  const model = modelOf({"node/n1": {ready: true, volumes: {disk: mounted}}, "pod/shop/web": pod});
  for (const id of Object.keys(STATE)) assert.equal(healthOf(id, model).state, "well", id);
});

test("a claim whose class is missing is stuck", () => {
  const {state, detail} = healthOf(
    "claim/shop/data",
    modelOf({"claim/shop/data": {phase: "Pending", class: "ssd"}, "volume/d1": null}),
  );
  assert.deepEqual([state, detail], ["stuck", "class ssd does not exist"]);
});

test("pods on a deleted node keep their card", () => {
  const model = modelOf({"node/n2": {ready: true, zone: "z"}});
  model.apply({first: 2, last: 2, seq: 2, at: 9e9, events: [{seq: 2, at: 9e9}], changes: {"node/n1": null}});
  const names = () => model.nodes.zones().map(({zone, names: all}) => [zone, all]);
  assert.deepEqual(names(), [
    ["z", ["n2"]],
    [null, ["n1"]],
  ]);
  assert.equal(healthOf("pod/shop/other", model).words, "node n1 does not exist");
});

test("a resource claim shares the health of its pod", () => {
  const trouble = {name: "FailedPrepareDynamicResources", failures: 2, error: "no driver", failed: 6e9};
  const waits = {queue: "unschedulable", resource_claims: ["gpu"], blocker: {short: "no device fits", attempt: 1}};
  const device = {request: "r", driver: "d", pool: "p", device: "0"};
  const states = [
    [{}, {}],
    [{}, waits],
    [{devices: [device]}, {node: "n1", phase: "Running", resource_claims: ["gpu"]}],
    [{devices: [device]}, {node: "n1", phase: "Pending", resource_claims: ["gpu"], trouble}],
    [{deleting: 1e9, finalizers: ["f"]}, {}],
  ].map(([claim, pod]) =>
    healthOf("resourceclaim/shop/gpu", modelOf({"resourceclaim/shop/gpu": claim, "pod/shop/p": pod})),
  );
  assert.deepEqual(
    states.map(({state}) => state),
    ["waiting", "stuck", "well", "failing", "stuck"],
  );
  assert.equal(states[1].detail, "no device yet: no device fits (attempt 1)");
});
