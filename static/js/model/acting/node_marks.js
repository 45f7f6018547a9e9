/** Labels and taints of an object, as rows of a form, and the patch that changes them. */

export const EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/** The labels as rows, by name: [{key, value}]. */
export function labelRows(labels) {
  return Object.entries(labels ?? {})
    .map(([key, value]) => ({key, value}))
    .sort((a, b) => (a.key < b.key ? -1 : 1));
}

/** The taints as rows: [{key, value, effect}]. */
export function taintRows(taints) {
  return (taints ?? []).map(({key, value = "", effect}) => ({key, value, effect}));
}

/** The merge patch from these labels to those of the rows; null where nothing changes. */
export function labelPatch(labels, rows) {
  const wanted = Object.fromEntries(
    rows.filter(({key}) => key.trim()).map(({key, value}) => [key.trim(), value.trim()]),
  );
  const changes = {};
  for (const key of Object.keys(labels ?? {})) if (!(key in wanted)) changes[key] = null;
  for (const [key, value] of Object.entries(wanted)) if ((labels ?? {})[key] !== value) changes[key] = value;
  return Object.keys(changes).length > 0 ? {metadata: {labels: changes}} : null;
}

/** The merge patch from these taints to those of the rows; null where nothing changes. What a row does not show stays. */
export function taintPatch(taints, rows) {
  const given = taints ?? [];
  const wanted = rows
    .filter(({key}) => key.trim())
    .map(({key, value, effect}) => {
      const taint = {key: key.trim(), ...(value.trim() ? {value: value.trim()} : {}), effect};
      const same = given.find(
        (one) => one.key === taint.key && one.effect === effect && (one.value ?? "") === (taint.value ?? ""),
      );
      return same ?? taint;
    });
  const isSame = wanted.length === given.length && wanted.every((one, place) => one === given[place]);
  return isSame ? null : {spec: {taints: wanted}};
}

/** Both as one command on the object of this id; null where nothing changes. */
export function marksCommand(id, labels, taints) {
  if (!labels && !taints) return null;
  return {verb: "patch", object: id, patch: {...labels, ...taints}};
}
