import {gettext} from "../../lib/words.js";
import {mergePatch} from "../shared/fold.js";
import {byName, duration} from "../shared/format.js";
import {operationLook} from "../health/node_volumes.js";

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
 * The operations on the volumes of a node: lanes {unique, name, slices}, the most recently used volume first.
 * A slice is {look, family, from, to, label, title, failed}; `to` is null if it is not over at the event
 * shown, and `until` is the end of a backoff. `events` are those that changed the node, oldest first; events
 * after `seq` are ignored.
 */
export function operationLanes(id, events, seq) {
  const lanes = new Map();
  let node = {};
  for (const {seq: eventSeq, at, changes} of events) {
    if (eventSeq > seq) break;
    const patch = changes?.[id];
    if (patch === undefined) continue;
    const before = node;
    // null deletes a part, and a missing part stays.
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

/** What happens to a volume, by key: a running operation, a backoff, an existing mount. */
function activities(node, unique) {
  const kubelet = node.volumes?.[unique];
  const operations = Object.entries(kubelet?.operations ?? {});
  if (node.attachments?.[unique]?.operation) operations.push(["controller", node.attachments[unique].operation]);
  const found = new Map();
  if (Object.values(kubelet?.mounts ?? {}).includes("VolumeMounted")) {
    found.set("mounted", {look: "steady", family: "settled", label: "", title: gettext("mounted")});
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
        title: gettext("backoff after failure {failures}", {failures: operation.failures}),
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
      Object.assign(slice, {
        look: "",
        family: "stuck",
        label: "",
        title: gettext("{title} failed", {title: slice.title}),
        failed: true,
      });
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
        title: gettext("{tried} failed", {tried}),
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
 * The axis of time to draw: from the first slice, but at most `most` ns before the moment shown, to a little
 * after the next retry.
 */
export function operationsAxis(lanes, at, most = 60e9) {
  const slices = lanes.flatMap(({slices: own}) => own);
  const next = Math.max(at, ...slices.filter(({to, until}) => to === null && until !== null).map(({until}) => until));
  const begins = Math.min(at, ...slices.map(({from}) => from));
  const from = Math.max(begins, at - Math.max(most, (next - at) * 1.5));
  const length = Math.max(next - from, 1e6);
  return {from, to: next > at ? next + length / 24 : Math.max(at, from + 1e6)};
}
