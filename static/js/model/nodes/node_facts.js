import {gettext, labelled, listText} from "../../lib/words.js";
import {byName} from "../shared/format.js";
import {isTerminating} from "../shared/terminating.js";

/** The states of a node, such as Ready or cordoned, as [mark, family, words]. */
export function nodeStates(node) {
  if (!node) return [["expired", "held", gettext("does not exist at this moment")]];
  const found = [node.ready ? ["ok", "settled", "Ready"] : ["no", "stuck", "NotReady"]];
  if (node.unschedulable) found.push(["gated", "held", gettext("cordoned")]);
  if (isTerminating(node)) found.push(["victim", "stuck", gettext("terminating")]);
  return found;
}

/** "zone eu-1b · no taints · volumesInUse 4 · volumesAttached 4". */
export function nodeFacts(node) {
  const taints = (node.taints ?? []).map(({key, value, effect}) => `${key}${value ? `=${value}` : ""}:${effect}`);
  return [
    node.zone ? gettext("zone {zone}", {zone: node.zone}) : gettext("no zone"),
    taints.length > 0 ? listText(taints) : gettext("no taints"),
    labelled("volumesInUse", node.volumes_in_use?.length ?? 0),
    labelled("volumesAttached", node.volumes_attached?.length ?? 0),
  ].join(" · ");
}

const RESOURCE_NAMES = {
  cpu: "CPU",
  memory: gettext("Memory"),
  "ephemeral-storage": gettext("Ephemeral storage"),
  pods: gettext("Pods"),
};

/**
 * The resources of a node as the scheduler counts them, and the volumes that each CSI driver may attach:
 * rows {resource, title, requested, assumed, allocatable, free}. `drivers` maps the drivers of the node's
 * CSINode to their limits.
 */
export function resourcesOf(node, drivers = {}) {
  const rows = Object.entries(node.allocatable ?? {}).map(([resource, allocatable]) =>
    resourceRow(
      resource,
      RESOURCE_NAMES[resource] ?? resource,
      node.requested?.[resource] ?? 0,
      node.assumed?.[resource] ?? 0,
      allocatable,
    ),
  );
  rows.sort((a, b) => rank(a) - rank(b) || byName(a.resource, b.resource));
  for (const [driver, limit] of Object.entries(drivers).sort(([a], [b]) => byName(a, b))) {
    rows.push(
      resourceRow("slots", gettext("Attachable volumes, {driver}", {driver}), attachedBy(node, driver), 0, limit),
    );
  }
  return rows;
}

function resourceRow(resource, title, requested, assumed, allocatable) {
  return {
    resource,
    title,
    requested,
    assumed: Math.min(assumed, requested),
    allocatable,
    free: allocatable - requested,
  };
}

function rank({resource}) {
  const at = Object.keys(RESOURCE_NAMES).indexOf(resource);
  return at < 0 ? Object.keys(RESOURCE_NAMES).length : at;
}

/** How many volumes of a CSI driver are or will be attached to the node. */
function attachedBy(node, driver) {
  const prefix = `kubernetes.io/csi/${driver}^`;
  return Object.keys(node.attachments ?? {}).filter((unique) => unique.startsWith(prefix)).length;
}

/** The first resource that a pod lacks on a node: {resource, asked, free}, or null if it fits. */
export function shortage(pod, node) {
  const asked = {...pod.requests, pods: 1};
  for (const {resource, free} of resourcesOf(node)) {
    if ((asked[resource] ?? 0) > Math.max(0, free)) return {resource, asked: asked[resource], free};
  }
  return null;
}

/** The nodes other than `name` that have the volume attached. Searches all nodes. */
export function holdersOf(entities, unique, name) {
  const found = [];
  for (const [id, entity] of entities) {
    if (!id.startsWith("node/") || id === `node/${name}`) continue;
    if (entity.attachments?.[unique]?.attached || entity.attachments?.[unique]?.uncertain)
      found.push(id.slice("node/".length));
  }
  return found.sort(byName);
}

/** The conditions in a node's manifest as {type, status, reason, message, since, family}; those that hold badly first. */
export function conditionsOf(manifest) {
  const rows = (manifest?.status?.conditions ?? []).map(({type, status, reason, message, lastTransitionTime}) => ({
    type,
    status,
    reason: reason ?? "",
    message: message ?? "",
    since: lastTransitionTime ?? "",
    // Ready has to be True, every other condition names a problem.
    family: status === (type === "Ready" ? "True" : "False") ? "settled" : "stuck",
  }));
  return rows.sort((a, b) => Number(a.family === "settled") - Number(b.family === "settled"));
}

/** The images that a node has as {name, others, size}, the largest first; `others` are further names of an image. */
export function imagesOf(manifest) {
  const rows = (manifest?.status?.images ?? []).map(({names = [], sizeBytes = 0}) => {
    const [name = "", ...others] = [...names].sort((a, b) => a.length - b.length);
    return {name, others, size: Number(sizeBytes)};
  });
  return rows.sort((a, b) => b.size - a.size || byName(a.name, b.name));
}
