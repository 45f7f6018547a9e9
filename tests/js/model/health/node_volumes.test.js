import assert from "node:assert/strict";
import {test} from "node:test";

import {
  attachedState,
  callOf,
  deviceState,
  mountStates,
  nextStep,
  shortError,
  volumesOf,
} from "../../../../static/js/model/health/node_volumes.js";

const SECOND = 1e9;
const DISK = "kubernetes.io/csi/disk.csi.example.com^d1";
const WANTED = {name: "d1", attachable: true, device_mountable: true, desired: {"shop/web": SECOND}};
const ERROR =
  'MountVolume.MountDevice failed for volume "d1" (UniqueName: "x") pod "web" (UID: "u") : rpc error: code = Internal desc = wrong fs type';

function only(volume, attachment, more = {}) {
  const node = {...more};
  if (volume) node.volumes = {[DISK]: volume};
  if (attachment) node.attachments = {[DISK]: attachment};
  return volumesOf(node)[0];
}

test("a volume mounted for all its pods is equal", () => {
  const row = only(
    {...WANTED, attached: true, device: "DeviceGloballyMounted", mounts: {"shop/web": "VolumeMounted"}},
    {name: "d1", attached: true},
  );
  assert.deepEqual([row.sign, row.plugin, nextStep(row, 0)], ["=", "csi", "nothing"]);
  assert.deepEqual(attachedState(row, 0), ["ok", "settled", "attached"]);
  assert.deepEqual(deviceState(row, 0), ["ok", "settled", "mounted"]);
  assert.deepEqual(mountStates(row, 0), [["ok", "settled", "", "shop/web"]]);
});

test("a failed mount names failures and retry time", () => {
  const operation = {name: "volume_mount", failures: 4, error: ERROR, failed: 6 * SECOND, retry_at: 10.1 * SECOND};
  const row = only({...WANTED, attached: true, operations: {"*": operation}}, {name: "d1", attached: true});
  assert.deepEqual([row.sign, row.family], ["+", "stuck"]);
  assert.deepEqual(deviceState(row, 0), ["backoff", "clock", "4 failures"]);
  assert.equal(nextStep(row, 0), "MountDevice again at 10.100 s");
});

test("a running operation shows its duration", () => {
  const row = only(
    {...WANTED, operations: {"*": {name: "verify_controller_attached_volume"}}},
    {name: "d1", operation: {name: "volume_attach", started: SECOND}},
  );
  assert.deepEqual(attachedState(row, 2.45 * SECOND), ["attach", "ready", "attaching 1.45 s"]);
  assert.equal(nextStep(row, 2 * SECOND), "waits for attach");
});

test("the reason for waiting to mount is named", () => {
  const verify = {operations: {"*": {name: "verify_controller_attached_volume"}}};
  const attached = {name: "d1", attached: true};
  assert.equal(nextStep(only({...WANTED, ...verify}, attached), 0), "waits until the node's volumesInUse lists it");
  assert.equal(
    nextStep(only({...WANTED, ...verify, in_use: true}, attached), 0),
    "waits until volumesAttached lists it",
  );
  assert.equal(
    nextStep(only({...WANTED, ...verify, in_use: true}, attached, {volumes_attached: [DISK]}), 0),
    "verifies the attachment, then mounts",
  );
});

test("an unneeded volume is unmounted, then detached", () => {
  const attached = {name: "d1", attached: true, mounted_by_node: true, desired: {"shop/web": 0}};
  const unmounting = {
    name: "d1",
    attached: true,
    device: "DeviceGloballyMounted",
    mounts: {"shop/web": "VolumeMounted"},
    operations: {"shop/web": {name: "volume_unmount", started: 0}},
  };
  const row = only(unmounting, attached);
  assert.deepEqual([row.sign, nextStep(row, 0)], ["−", "then unmount the device"]);
  assert.deepEqual(mountStates(row, SECOND), [["unmount", "held", "unmounting 1.00 s", "shop/web"]]);
  assert.equal(
    nextStep(only({name: "d1", attached: true, device: "DeviceGloballyMounted"}, attached), 0),
    "unmount the device",
  );
  const waiting = {name: "d1", attached: true, mounted_by_node: true, detach_requested: 0, deadline: 360 * SECOND};
  assert.equal(nextStep(only(null, waiting), 300 * SECOND), "waits for volumesInUse; force-detach in 60.00 s");
});

test("a volume on another node is rejected", () => {
  const row = only(WANTED, {name: "d1", desired: {"shop/web": 0}, multi_attach_error_reported: true});
  assert.deepEqual(attachedState(row, 0), ["no", "stuck", "rejected: attached to another node"]);
  assert.equal(nextStep(row, 0), "waits for the other node to detach it");
});

test("volumes that differ come before those that agree", () => {
  const equal = {name: "a", desired: {"shop/web": 0}, mounts: {"shop/web": "VolumeMounted"}};
  const rows = volumesOf({volumes: {"kubernetes.io/empty-dir/u-a": equal, [DISK]: WANTED}});
  assert.deepEqual(
    rows.map(({name}) => name),
    ["d1", "a"],
  );
  assert.deepEqual(attachedState(rows[1], 0), [null, "", "not attachable"]);
  assert.deepEqual(deviceState(rows[1], 0), [null, "", "no device"]);
});

test("an error is shortened to the driver's message", () => {
  assert.equal(callOf({name: "volume_mount", error: ERROR}), "MountDevice");
  assert.equal(callOf({name: "volume_attach", error: "no slot"}), "Attach");
  assert.equal(shortError(ERROR), "wrong fs type");
  assert.equal(shortError("no slot"), "no slot");
});
