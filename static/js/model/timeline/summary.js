/** The sums of a path in words. */
import {gettext, listText, ngettext, sentences} from "../../lib/words.js";
import {duration, parseId} from "../shared/format.js";

const NAMED = 3;

/** What a sum is made of: "2 times: 7.88 s + 8.93 s", "by payments-5". */
export function sumDetail({pod, steps}, name) {
  const found = steps.filter((step) => step.name === name);
  if (name === "attempt") return gettext("number {numbers}", {numbers: listText(found.map(({attempt}) => attempt))});
  const lengths = found.map(({from, to}) => duration(to - from));
  if (found.length > 1)
    return ngettext("{count} time: {lengths}", "{count} times: {lengths}", found.length, {
      lengths: [...lengths.slice(0, NAMED), ...(found.length > NAMED ? ["…"] : [])].join(" + "),
    });
  const [{object}] = found;
  if (object === pod) return "";
  const {kind, name: named} = parseId(object);
  if (name === "overtaken") return gettext("by {name}", {name: named});
  return kind === "node" ? gettext("to {name}", {name: named}) : named;
}

/**
 * What fills the life of a pod and did not make it longer: its time in backoff and unschedulable, where the path
 * counts much less. "" where there is nothing to say.
 */
export function notACause({sums}, lived) {
  const queue = (lived.backoff ?? 0) + (lived.unschedulable ?? 0);
  const counted = sums
    .filter(({name}) => name === "backoff" || name === "unschedulable")
    .reduce((whole, {sum}) => whole + sum, 0);
  if (queue < 2 * counted || queue - counted < 1e9) return "";
  return sentences([
    gettext("Backoff and unschedulable fill {time} of its life.", {time: duration(queue)}),
    counted === 0
      ? gettext(
          "None of it counts: the rest of the time there was no room for it, and a shorter backoff would have changed nothing.",
        )
      : gettext(
          "Only {time} of it counts: the rest of the time there was no room for it, and a shorter backoff would have changed nothing.",
          {time: duration(counted)},
        ),
  ]);
}
