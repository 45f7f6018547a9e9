import assert from "node:assert/strict";
import {test} from "node:test";
import {deviceVerdicts, resourceClaimsOf} from "../../../../static/js/model/pods/pod_devices.js";

test("a claim shows its requests, devices and users", () => {
  const device = {request: "r", driver: "d", pool: "n1", device: "gpu-0"};
  const claim = {requests: ["r"], devices: [device], users: ["p", "q"]};
  const entities = new Map([["resourceclaim/shop/c", claim]]);
  const [found, lost] = resourceClaimsOf(entities, "pod/shop/p", {resource_claims: ["c", "gone"]});
  assert.deepEqual(found, {id: "resourceclaim/shop/c", name: "c", ...claim});
  assert.equal(lost.requests, null);
  assert.deepEqual(lost.devices, []);
});

test("each device of each node has what spoke against it", () => {
  const entry = {slice: "s", request: "r", device: "gpu-0", kind: "allocated", text: "it is allocated to claim shop/c"};
  const verdicts = {n2: {detail: {devices: [{...entry, kind: "none"}]}}, n1: {detail: {devices: [entry]}}, n3: {}};
  const [first, second, ...others] = deviceVerdicts({verdicts});
  assert.deepEqual([first.node, first.family, first.text], ["n1", "clock", "it is allocated to claim shop/c"]);
  assert.equal(second.family, "settled");
  assert.equal(first.slice, "resourceslice/s");
  assert.deepEqual(others, []);
  assert.deepEqual(deviceVerdicts(undefined), []);
});
