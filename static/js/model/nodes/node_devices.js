import {byName} from "../shared/format.js";

/**
 * The devices that a node can reach by itself or like every node, as rows {id, slice, driver, pool, name, traits,
 * taints, holders}, by driver, pool and name. `traits` are attributes and capacities in words; `holders` are the
 * ids of the claims that have the device, more than one for a device that is shared.
 */
export function devicesOf(entities, node) {
  const slices = newest([...entities].filter(([id, slice]) => isSlice(id) && (slice.node === node || slice.all_nodes)));
  if (slices.length === 0) return [];
  const holders = holdersOf(entities);
  const rows = slices.flatMap(([id, slice]) =>
    (slice.devices ?? []).map((device) => deviceRow(id, slice, device, holders)),
  );
  return rows.sort((a, b) => byName(a.driver, b.driver) || byName(a.pool, b.pool) || byName(a.name, b.name));
}

/** How many devices each node has for itself, and how many of them a claim has: name → {devices, taken}. */
export function deviceCounts(entities) {
  const counts = new Map();
  const slices = newest([...entities].filter(([id, {node}]) => isSlice(id) && node));
  if (slices.length === 0) return counts;
  const holders = holdersOf(entities);
  for (const [, slice] of slices) {
    const {devices, taken} = counts.get(slice.node) ?? {devices: 0, taken: 0};
    const held = (slice.devices ?? []).filter(({name}) => holders.has(deviceKey({...slice, device: name})));
    counts.set(slice.node, {devices: devices + (slice.devices ?? []).length, taken: taken + held.length});
  }
  return counts;
}

function isSlice(id) {
  return id.startsWith("resourceslice/");
}

/** The slices of the newest generation of each pool; the others do not count any more. */
function newest(slices) {
  const generations = new Map();
  const poolOf = ({driver, pool}) => `${driver}/${pool}`;
  for (const [, slice] of slices) {
    generations.set(poolOf(slice), Math.max(generations.get(poolOf(slice)) ?? 0, slice.generation ?? 0));
  }
  return slices.filter(([, slice]) => (slice.generation ?? 0) === generations.get(poolOf(slice)));
}

/** The ids of claims by the device that they have. */
function holdersOf(entities) {
  const found = new Map();
  for (const [id, claim] of entities) {
    if (!id.startsWith("resourceclaim/")) continue;
    for (const device of claim.devices ?? []) {
      const key = deviceKey(device);
      found.set(key, [...(found.get(key) ?? []), id]);
    }
  }
  return found;
}

function deviceRow(id, slice, device, holders) {
  const key = deviceKey({...slice, device: device.name});
  const traits = [...Object.entries(device.attributes ?? {}), ...Object.entries(device.capacity ?? {})];
  return {
    id: key,
    slice: id,
    driver: slice.driver,
    pool: slice.pool,
    name: device.name,
    traits: traits.map(([name, value]) => `${name} ${value}`),
    taints: (device.taints ?? []).map(({key: name, value, effect}) => `${name}${value ? `=${value}` : ""}:${effect}`),
    holders: holders.get(key) ?? [],
  };
}

/** "gpu.example.com/n1/gpu-0". */
export function deviceKey({driver, pool, device}) {
  return `${driver}/${pool}/${device}`;
}
