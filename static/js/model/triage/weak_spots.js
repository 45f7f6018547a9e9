/** What one might try in a cluster where nothing is stuck: where would it get stuck first? */
import {gettext, listText, ngettext} from "../../lib/words.js";
import {parseId} from "../shared/format.js";

const MOST_NODES = 50;

/** At most three ways, as {text, about, commands}: lose the smallest zone, drain the fullest node, scale up. */
export function weakSpots({nodes, entities}) {
  return [lostZone(nodes), drainedNode(nodes), scaledUp(entities)].filter((spot) => spot !== null);
}

function podsOn(nodes, name) {
  return nodes.pods.get(name)?.size ?? 0;
}

function lostZone(nodes) {
  const zones = new Map();
  for (const [name, {zone}] of nodes.byName) {
    if (zone) zones.set(zone, [...(zones.get(zone) ?? []), name]);
  }
  const [zone, names] = [...zones].sort(([, one], [, other]) => one.length - other.length)[0] ?? [];
  if (zones.size < 2 || names.length > MOST_NODES) return null;
  const pods = names.reduce((sum, name) => sum + podsOn(nodes, name), 0);
  return {
    text: gettext("Lose zone {zone}", {zone}),
    about: listText([ngettext("{count} node", "{count} nodes", names.length), podsText(pods)]),
    commands: names.map((name) => ({verb: "stop_kubelet", object: `node/${name}`})),
  };
}

function drainedNode(nodes) {
  const [name] = [...nodes.byName.keys()].sort((one, other) => podsOn(nodes, other) - podsOn(nodes, one));
  if (!name || podsOn(nodes, name) === 0) return null;
  return {
    text: gettext("Drain {name}", {name}),
    about: podsText(podsOn(nodes, name)),
    commands: [
      {verb: "cordon", object: `node/${name}`},
      {verb: "evict_pods", object: `node/${name}`},
    ],
  };
}

/** Twice the pods of the Deployment or StatefulSet that has most. */
function scaledUp(entities) {
  const sizes = new Map();
  for (const [id, {owner}] of entities) {
    const scaled = id.startsWith("pod/") && owner ? scalable(entities, parseId(id).namespace, owner) : null;
    if (scaled) sizes.set(scaled, (sizes.get(scaled) ?? 0) + 1);
  }
  const [found, size] = [...sizes].sort(([, one], [, other]) => other - one)[0] ?? [];
  if (!found) return null;
  return {
    text: gettext("Scale {name} to {size}", {name: parseId(found).name, size: 2 * size}),
    about: gettext("from {size}", {size}),
    commands: [{verb: "patch", object: found, patch: {spec: {replicas: 2 * size}}}],
  };
}

/** The workload to scale of a pod with this owner; a ReplicaSet is called after its Deployment. */
function scalable(entities, namespace, owner) {
  const ids = [`deployment/${namespace}/${owner.replace(/-[^-]+$/, "")}`, `statefulset/${namespace}/${owner}`];
  return ids.find((id) => entities.has(id)) ?? null;
}

function podsText(number) {
  return ngettext("{count} pod", "{count} pods", number);
}
