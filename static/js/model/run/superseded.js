import {gettext, listed, ngettext} from "../../lib/words.js";
import {healthOf} from "./health_of.js";
import {count, duration} from "../shared/format.js";

const NAMES = {pod: "pod", claim: "claim", node: "node"};

/** The ids of the objects that a group holds and that a run plays. */
export function heldIds({pods, claims, nodes}) {
  return [
    ...pods.map((key) => `pod/${key}`),
    ...claims.map((key) => `claim/${key}`),
    ...nodes.map((key) => `node/${key}`),
  ];
}

/**
 * The mark of a cause whose objects have gone on since the run was played: "superseded in this run at 12.00 s: 2 of 5
 * pods go on, 1 is gone"; "" where each of them stands as the files say. What was observed stays beside it.
 */
export function supersededWords(ids, model) {
  if (model.at <= 0 || model.entities.size === 0) return "";
  const parts = Object.entries(NAMES).map(([kind, name]) =>
    partOf(
      ids.filter((id) => id.startsWith(`${kind}/`)),
      name,
      model,
    ),
  );
  const told = parts.filter(Boolean);
  return told.length > 0
    ? gettext("superseded in this run at {at}: {told}", {at: duration(model.at), told: told.join("; ")})
    : "";
}

function partOf(ids, name, model) {
  const gone = ids.filter((id) => !model.entities.has(id)).length;
  const well = ids.filter((id) => model.entities.has(id) && healthOf(id, model).state === "well").length;
  const several = `${name}${ids.length === 1 ? "" : "s"}`;
  const parts = [];
  if (well > 0)
    parts.push(
      ngettext("{count} of {count} {several} goes on", "{count} of {count} {several} go on", well, {
        count: count(ids.length),
        several,
      }),
    );
  if (gone > 0)
    parts.push(
      ngettext("{count} of {count} {several} is gone", "{count} of {count} {several} are gone", gone, {
        count: count(ids.length),
        several,
      }),
    );
  return listed(parts);
}
