import {gettext} from "../../lib/words.js";
import {byName, fixed, parseId} from "../shared/format.js";
import {rowsInTrouble} from "../health/operations.js";
import {Ordered} from "../shared/ordered.js";
import {isFinished} from "../shared/terminating.js";
import {resourcesOf} from "./node_facts.js";

/** Above this many nodes a zone is a strip of small cells instead of a row of cards. */
export const CARDS = 60;

/**
 * Nodes by zone, and the pods that are bound, assumed or nominated to each. Updated from the entities that
 * changed.
 */
export class Nodes {
  /** @type {Map<string, any>} */
  byName;
  /** @type {Ordered} */
  #names;
  /** The pods of each node: name of the node → id of the pod → pod. @type {Map<string, Map<string, any>>} */
  pods;
  /** Grows with every change of a node or of the pods on it, per node name. @type {Map<string, number>} */
  versions;

  constructor() {
    this.clear();
  }

  clear() {
    this.byName = new Map();
    this.#names = new Ordered();
    this.pods = new Map();
    this.volumes = new Map();
    this.layout = null;
    this.suffix = null;
    /** The volumes of which an operation fails, by their names; null if they have to be looked for again. */
    this.failing = null;
    this.versions = new Map();
  }

  updateNode(id, before, after) {
    const {name} = parseId(id);
    if (after) {
      this.byName.set(name, after);
      this.#names.add(name);
    } else {
      this.byName.delete(name);
      this.#names.delete(name);
    }
    if (!before || !after) this.suffix = null;
    if (!before || !after || before.zone !== after.zone) this.layout = null;
    if (before?.volumes !== after?.volumes || before?.attachments !== after?.attachments) this.failing = null;
    this.#touch(name);
  }

  updatePod(id, before, after) {
    const from = before ? placeOf(before) : null;
    const to = after ? placeOf(after) : null;
    if (from && from !== to) {
      this.pods.get(from)?.delete(id);
      if (!this.byName.has(from)) this.layout = null;
    }
    if (to) {
      const pods = this.pods.get(to) ?? new Map();
      this.pods.set(to, pods.set(id, after));
      if (!this.byName.has(to)) this.layout = null;
      this.#touch(to);
    }
    if (from && from !== to) this.#touch(from);
  }

  get size() {
    return this.byName.size;
  }

  version(name) {
    return this.versions.get(name) ?? 0;
  }

  /**
   * Zones in order, each with its node names in order; nodes without a zone come last. Deleted nodes that still have
   * pods follow in a zone null.
   */
  zones() {
    if (!this.layout) {
      const zones = new Map();
      for (const name of this.#names.list) {
        const zone = this.byName.get(name).zone ?? "";
        if (!zones.has(zone)) zones.set(zone, []);
        zones.get(zone).push(name);
      }
      this.layout = [...zones]
        .sort(([a], [b]) => Number(a === "") - Number(b === "") || byName(a, b))
        .map(([zone, names]) => ({zone, names}));
      const gone = [...this.pods].filter(([name, pods]) => pods.size > 0 && !this.byName.has(name));
      if (gone.length > 0) this.layout.push({zone: null, names: gone.map(([name]) => name).sort(byName)});
    }
    return this.layout;
  }

  /** Sort the names that came: a little now saves the next `zones` a lot. */
  sortNames() {
    void this.#names.list;
  }

  /** The operation that fails for a volume, by the volume's name. */
  troubles() {
    if (!this.failing) {
      this.failing = new Map();
      for (const node of this.byName.values())
        for (const {name, trouble} of rowsInTrouble(node)) this.failing.set(name, trouble);
    }
    return this.failing;
  }

  /** A node's name without the domain that all nodes share. */
  label(name) {
    this.suffix ??= sharedDomain([...this.byName.keys()]);
    return this.suffix && name.endsWith(this.suffix) ? name.slice(0, -this.suffix.length) : name;
  }

  /** The tiles of a node as {id, pod, state}: pods that take a place on it, bound pods first. */
  tiles(name) {
    const tiles = [];
    for (const [id, pod] of this.pods.get(name) ?? []) {
      const state = tileState(pod);
      if (state) tiles.push({id, pod, state});
    }
    return tiles.sort((a, b) => TILE_ORDER[a.state] - TILE_ORDER[b.state] || byName(a.id, b.id));
  }

  #touch(name) {
    this.versions.set(name, this.version(name) + 1);
  }
}

/** ".eu.example.com" when every name ends in it after its first dot, else "". */
function sharedDomain(names) {
  const dot = names.length > 1 ? names[0].indexOf(".") : -1;
  const domain = dot > 0 ? names[0].slice(dot) : "";
  return domain && names.every((name) => name.indexOf(".") > 0 && name.slice(name.indexOf(".")) === domain)
    ? domain
    : "";
}

const TILE_ORDER = {bound: 0, terminating: 1, assumed: 2, nominated: 3};

/** The title of a zone of `Nodes.zones`. */
export function zoneTitle(zone) {
  return zone === null ? "deleted" : zone || gettext("no zone");
}

/** The accessible name of a zone. */
export function zoneLabel(zone) {
  if (zone === null) return gettext("Deleted nodes");
  return zone ? gettext("Zone {zone}", {zone}) : gettext("No zone");
}

/** The node a pod is drawn on, or null: bound, assumed or nominated there. */
export function placeOf(pod) {
  return pod.node ?? pod.assumed ?? pod.nominated ?? null;
}

/** How a pod takes its place on a node, or null if it takes none. */
export function tileState(pod) {
  if (isFinished(pod)) return null;
  if (pod.node) return pod.deleting === undefined ? "bound" : "terminating";
  if (pod.assumed) return "assumed";
  if (pod.nominated) return "nominated";
  return null;
}

const SHORT_NAMES = {cpu: "cpu", memory: gettext("mem"), pods: gettext("pods")};
/** Resources that a card shows only where somebody requests them. */
const QUIET = /^(ephemeral-storage|hugepages-.+)$/;

/**
 * The meters of a node: CPU, memory, pods, then extended resources such as GPUs, devices, and the volumes that may be
 * attached. `settled` is what bound pods request, `assumed` what assumed pods request; `want` is what the selected pod
 * requests, drawn as an outline, and `short` by how much that exceeds the end. All are parts of allocatable, 0 to 1.
 * `drivers` are the limits of the node's CSI drivers, `devices` the number of its devices and `taken` of those in use.
 */
export function meters(node, wanted = null, {drivers = {}, devices = 0, taken = 0} = {}) {
  const rows = resourcesOf(node, drivers).filter(({resource, requested}) => !QUIET.test(resource) || requested > 0);
  if (devices > 0)
    rows.push({
      resource: "devices",
      title: gettext("Devices"),
      requested: taken,
      assumed: 0,
      allocatable: devices,
      free: devices - taken,
    });
  const first = Object.keys(SHORT_NAMES);
  const rank = ({resource}) => (first.includes(resource) ? first.indexOf(resource) : first.length);
  return rows.sort((a, b) => rank(a) - rank(b)).map((row) => meter(row, wanted?.[row.resource] ?? 0));
}

function meter({resource, title, requested, assumed, allocatable: whole}, want) {
  const part = (value) => (whole > 0 ? value / whole : Number(value > 0));
  return {
    resource,
    label: shortName(resource),
    title,
    requested,
    whole,
    settled: Math.min(1, part(requested - assumed)),
    assumed: Math.min(1, part(assumed)),
    want: Math.min(part(want), Math.max(0, 1 - part(requested))),
    wantFrom: Math.min(1, part(requested)),
    short: want > 0 ? Math.max(0, part(requested + want) - 1) : 0,
  };
}

/** "nvidia.com/gpu" → "gpu". */
function shortName(resource) {
  if (resource === "slots" || resource.startsWith("attachable-volumes-")) return gettext("vol");
  if (resource === "devices") return gettext("dev");
  return SHORT_NAMES[resource] ?? resource.slice(resource.lastIndexOf("/") + 1);
}

/** What a pod requests of a node, including the slot that every pod takes. */
export function wants(pod) {
  return pod ? {...pod.requests, pods: 1} : null;
}

/** How full a node is, 0…1: the resource nearest its end. */
export function fullness(node) {
  let most = 0;
  for (const resource of Object.keys(SHORT_NAMES)) {
    const whole = node.allocatable?.[resource] ?? 0;
    const requested = node.requested?.[resource] ?? 0;
    if (whole > 0) most = Math.max(most, requested / whole);
  }
  return Math.min(1, most);
}

/** The note beside the name of a node without a problem: a taint, or when the node joined. */
export function hint(node, at) {
  const taint = (node.taints ?? []).find((each) => !each.key.startsWith("node.kubernetes.io/"));
  if (taint) return taint.value ? `${taint.key}=${taint.value}` : taint.key;
  // Nodes of an imported cluster were created before the run.
  if (node.created > 0 && node.created <= at) return gettext("joined {time} s", {time: fixed(node.created / 1e9, 1)});
  return "";
}
