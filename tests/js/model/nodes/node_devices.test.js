import assert from "node:assert/strict";
import {test} from "node:test";
import {deviceCounts, devicesOf} from "../../../../static/js/model/nodes/node_devices.js";

const GPU = {name: "gpu-0", attributes: {model: "a"}, capacity: {memory: "80Gi"}};
const SLICE = {driver: "gpu.example.com", pool: "n1", generation: 1, node: "n1", devices: [GPU]};

function rows(slices, claims = {}) {
  return devicesOf(new Map(Object.entries({...slices, ...claims})), "n1");
}

test("a device has its traits and the claim that holds it", () => {
  const claim = {devices: [{request: "r", driver: "gpu.example.com", pool: "n1", device: "gpu-0"}]};
  const [row] = rows({"resourceslice/s": SLICE}, {"resourceclaim/default/c": claim});
  assert.deepEqual(row.traits, ["model a", "memory 80Gi"]);
  assert.deepEqual(row.holders, ["resourceclaim/default/c"]);
  assert.equal(row.slice, "resourceslice/s");
});

test("devices of other nodes are left out", () => {
  const elsewhere = {...SLICE, node: "n2"};
  const everywhere = {...SLICE, node: undefined, pool: "net", all_nodes: true};
  const found = rows({"resourceslice/a": elsewhere, "resourceslice/b": everywhere});
  assert.deepEqual(
    found.map(({pool}) => pool),
    ["net"],
  );
});

test("only the newest generation of a pool counts", () => {
  const newer = {...SLICE, generation: 2, devices: [{name: "gpu-1", taints: [{key: "bad", effect: "NoSchedule"}]}]};
  const [row, ...others] = rows({"resourceslice/a": SLICE, "resourceslice/b": newer});
  assert.equal(row.name, "gpu-1");
  assert.deepEqual(row.taints, ["bad:NoSchedule"]);
  assert.deepEqual(others, []);
});

test("a node counts its devices and those taken", () => {
  const devices = [GPU, {name: "gpu-1"}];
  const claim = {devices: [{request: "r", driver: "gpu.example.com", pool: "n1", device: "gpu-0"}]};
  const entities = new Map(
    Object.entries({"resourceslice/s": {...SLICE, devices}, "resourceclaim/default/c": claim, "node/n1": {}}),
  );
  assert.deepEqual([...deviceCounts(entities)], [["n1", {devices: 2, taken: 1}]]);
});
