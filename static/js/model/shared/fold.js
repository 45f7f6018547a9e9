/** Folding events into the view state. The same few lines as engine/kernel/view.py. */

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/**
 * Apply an RFC 7386 merge patch to one value. Pure: untouched branches are shared and nothing is
 * written, so a changed entity is a new object.
 */
export function mergePatch(target, patch) {
  if (!isObject(patch)) return patch;
  const merged = isObject(target) ? {...target} : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = mergePatch(merged[key], value);
  }
  return merged;
}

/**
 * Fold changes into a Map of entity id to attributes, in place.
 *
 * Returns the changed entities as they were before, undefined for new ones; `unfold` takes them back.
 */
export function foldInto(entities, changes) {
  const before = new Map();
  for (const [id, patch] of Object.entries(changes ?? {})) {
    before.set(id, entities.get(id));
    if (patch === null) entities.delete(id);
    else entities.set(id, mergePatch(entities.get(id), patch));
  }
  return before;
}

/** Put back what `foldInto` replaced. */
export function unfold(entities, before) {
  for (const [id, entity] of before) {
    if (entity === undefined) entities.delete(id);
    else entities.set(id, entity);
  }
}
