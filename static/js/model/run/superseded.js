import {clauses, gettext, listText, ngettext} from "../../lib/words.js";
import {healthOf} from "./health_of.js";
import {count, duration} from "../shared/format.js";

/** How many objects of a kind go on, and how many are gone, of all that a cause names. */
const SAID = {
  pod: {
    well: (well, all) =>
      all === 1
        ? gettext("1 of 1 pod goes on")
        : ngettext("{count} of {all} pods goes on", "{count} of {all} pods go on", well, {all: count(all)}),
    gone: (gone, all) =>
      all === 1
        ? gettext("1 of 1 pod is gone")
        : ngettext("{count} of {all} pods is gone", "{count} of {all} pods are gone", gone, {all: count(all)}),
  },
  claim: {
    well: (well, all) =>
      all === 1
        ? gettext("1 of 1 claim goes on")
        : ngettext("{count} of {all} claims goes on", "{count} of {all} claims go on", well, {all: count(all)}),
    gone: (gone, all) =>
      all === 1
        ? gettext("1 of 1 claim is gone")
        : ngettext("{count} of {all} claims is gone", "{count} of {all} claims are gone", gone, {all: count(all)}),
  },
  node: {
    well: (well, all) =>
      all === 1
        ? gettext("1 of 1 node goes on")
        : ngettext("{count} of {all} nodes goes on", "{count} of {all} nodes go on", well, {all: count(all)}),
    gone: (gone, all) =>
      all === 1
        ? gettext("1 of 1 node is gone")
        : ngettext("{count} of {all} nodes is gone", "{count} of {all} nodes are gone", gone, {all: count(all)}),
  },
};

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
  const parts = Object.entries(SAID).map(([kind, said]) =>
    partOf(
      ids.filter((id) => id.startsWith(`${kind}/`)),
      said,
      model,
    ),
  );
  const told = clauses(parts);
  return told && gettext("superseded in this run at {time}: {told}", {time: duration(model.at), told});
}

function partOf(ids, said, model) {
  const gone = ids.filter((id) => !model.entities.has(id)).length;
  const well = ids.filter((id) => model.entities.has(id) && healthOf(id, model).state === "well").length;
  return listText([
    ...(well > 0 ? [said.well(well, ids.length)] : []),
    ...(gone > 0 ? [said.gone(gone, ids.length)] : []),
  ]);
}
