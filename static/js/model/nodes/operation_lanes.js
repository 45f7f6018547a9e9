import {mergePatch} from "../shared/fold.js";
import {byName, duration} from "../shared/format.js";
import {operationLook} from "./node_volumes.js";

/** The kinds of events about operations on volumes of a node, among the many that change a node. */
export const KINDS = [
  "VolumesReconciled",
  "VolumeAttached",
  "VolumeDetached",
  "VolumeAttachmentVerified",
  "DeviceMounted",
  "VolumeMounted",
  "VolumeMapped",
  "VolumeFileSystemResized",
  "VolumeUnmounted",
  "DeviceUnmounted",
  "VolumeOperationFailed",
  "VolumeOperationsAbandoned",
  "MountsLost",
  "NodeDeleted",
];

const VERIFY = "verify_controller_attached_volume";

/**
 * What was done about the volumes of a node: lanes {unique, name, slices}, those that something was
 * done about last first. A slice is {look, family, from, to, label, title, failed}; `to` is null where
 * it goes on at the event shown, and after it for a backoff that has yet to pass. `events` are those
 * that changed the node, oldest first; what comes after `seq` is left out.
 */
export function operationLanes(id, events, seq) {
  const lanes = new Map();
  let node = {};
  for (const {seq: eventSeq, at, changes} of events) {
    if (eventSeq > seq) break;
    const patch = changes?.[id];
    if (patch === undefined) continue;
    const before = node;
    // null takes a part away, and one that is not named stays.
    const {volumes = {}, attachments = {}} = patch ?? {volumes: null, attachments: null};
    node = mergePatch(node, {volumes, attachments});
    for (const unique of changedVolumes(before, node))
      follow(laneOf(lanes, unique, node), activities(node, unique), at);
  }
  const found = [...lanes.values()].filter(({slices}) => slices.length > 0);
  return found.sort((a, b) => b.open.size - a.open.size || b.last - a.last || byName(a.name, b.name));
}

function changedVolumes(before, after) {
  const changed = new Set();
  for (const part of ["volumes", "attachments"]) {
    const [old, now] = [before[part] ?? {}, after[part] ?? {}];
    for (const unique of Object.keys({...old, ...now})) if (old[unique] !== now[unique]) changed.add(unique);
  }
  return changed;
}

function laneOf(lanes, unique, node) {
  if (!lanes.has(unique)) {
    const name = node.volumes?.[unique]?.name ?? node.attachments?.[unique]?.name ?? unique;
    lanes.set(unique, {unique, name, slices: [], open: new Map(), last: 0});
  }
  return lanes.get(unique);
}

/** What goes on with a volume, by key: an operation that runs, one that waits, a mount that stands. */
function activities(node, unique) {
  const kubelet = node.volumes?.[unique];
  const operations = Object.entries(kubelet?.operations ?? {});
  if (node.attachments?.[unique]?.operation) operations.push(["controller", node.attachments[unique].operation]);
  const found = new Map();
  if (Object.values(kubelet?.mounts ?? {}).includes("VolumeMounted")) {
    found.set("mounted", {look: "steady", family: "settled", label: "", title: "mounted"});
  }
  for (const [whose, operation] of operations) {
    if (operation.name === VERIFY) continue;
    const {title, family} = operationLook(operation);
    if (operation.started !== undefined) {
      found.set(`${whose}:${operation.started}`, {
        look: "t",
        family,
        label: title.toLowerCase(),
        title,
        begins: operation.started,
        whose,
      });
    } else if (operation.retry_at !== undefined) {
      const wait = duration(operation.retry_at - operation.failed);
      found.set(`${whose}:backoff:${operation.failed}`, {
        look: "bo",
        family: "clock",
        label: wait,
        title: `backoff after failure ${operation.failures}`,
        until: operation.retry_at,
        failed: operation.failed,
        whose,
        tried: title,
      });
    }
  }
  return found;
}

function follow(lane, now, at) {
  lane.last = at;
  for (const [key, slice] of lane.open) {
    if (now.has(key)) continue;
    slice.to = at;
    const backs = [...now.values()].find(({failed, whose}) => failed === at && whose === slice.whose);
    if (backs && slice.look === "t")
      Object.assign(slice, {look: "", family: "stuck", label: "", title: `${slice.title} failed`, failed: true});
    lane.open.delete(key);
  }
  for (const [key, {look, family, label, title, begins, until, whose, failed, tried}] of now) {
    if (lane.open.has(key)) continue;
    // An operation that fails at once has no event of its start.
    if (failed === at && !lane.slices.some((slice) => slice.failed && slice.to === at && slice.whose === whose)) {
      lane.slices.push({
        look: "",
        family: "stuck",
        label: "",
        title: `${tried} failed`,
        from: at,
        to: at,
        until: null,
        whose,
        failed: true,
      });
    }
    const slice = {
      look,
      family,
      label,
      title,
      from: begins ?? at,
      to: null,
      until: until ?? null,
      whose,
      failed: false,
    };
    lane.open.set(key, slice);
    lane.slices.push(slice);
  }
}

/**
 * The stretch of time worth drawing: what happened since the oldest slice that is short, up to a little
 * beyond what is tried again, but no more than `most` ns before the moment shown.
 */
export function operationsAxis(lanes, at, most = 60e9) {
  const slices = lanes.flatMap(({slices: own}) => own);
  const next = Math.max(at, ...slices.filter(({to, until}) => to === null && until !== null).map(({until}) => until));
  const begins = Math.min(at, ...slices.map(({from}) => from));
  const from = Math.max(begins, at - Math.max(most, (next - at) * 1.5));
  const length = Math.max(next - from, 1e6);
  return {from, to: next > at ? next + length / 24 : Math.max(at, from + 1e6)};
}
