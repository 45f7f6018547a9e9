import {byName, parseId} from "../shared/format.js";

/**
 * What a ResourceQuota allows and what is used of it: rows {resource, used, hard}, by resource. The amounts
 * are quantities as the quota's status writes them.
 */
export function quotaRows({hard = {}, used = {}}) {
  return Object.keys(hard)
    .sort(byName)
    .map((resource) => ({resource, used: used[resource] ?? "0", hard: hard[resource]}));
}

/** The ids of the quotas of a namespace, by name. */
export function quotasOf(namespace, entities) {
  const prefix = `resourcequota/${namespace}/`;
  return [...entities.keys()].filter((id) => id.startsWith(prefix)).sort(byName);
}

/** The quotas that a manifest is about: the quota itself, or those of the namespace. */
export function quotasShown(id, entities) {
  const {kind, name} = parseId(id);
  if (kind === "resourcequota") return entities.has(id) ? [id] : [];
  return kind === "namespace" ? quotasOf(name, entities) : [];
}
