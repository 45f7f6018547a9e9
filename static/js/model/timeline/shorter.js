/** What would have shortened a path, in words; docs/timeline.md has the names of the changes. */
import {gettext, listText} from "../../lib/words.js";
import {duration, parseId} from "../shared/format.js";

/** More are not worth reading. */
const SHOWN = 5;
const NAMED = 3;

const TITLES = {
  grace: ({objects, amount}) => gettext("A grace of {amount} s for {objects}", {amount, objects: listed(objects)}),
  priority: ({objects, amount}) =>
    gettext("A priority of {amount}, above {objects}", {amount, objects: listed(objects)}),
  node: () => gettext("One more node with room for it"),
  gate: () => gettext("Its scheduling gates removed at once"),
  queue: () => gettext("A priority above the pods before it in the queue"),
  backoff: () => gettext("A shorter backoff: the room was there"),
  volume: () => gettext("Volumes that are bound before the pod comes"),
  attach: () => gettext("A volume that attaches at once"),
  kubelet: () => gettext("A kubelet that looks again at once"),
  mount: () => gettext("A volume that mounts at once"),
  start: () => gettext("Images that are on the node, and containers that start at once"),
};

/** The changes to show, the largest first, each with its title and what came of it in a fork: null if it was not tried. */
export function changesShown({shorter}, trials) {
  return (shorter ?? []).slice(0, SHOWN).map((change) => ({
    ...change,
    title: TITLES[change.name](change),
    tried: trials?.find((each) => each.name === change.name && `${each.objects}` === `${change.objects}`) ?? null,
  }));
}

/** How much a change saves, and how that is known. */
export function savedWords({saves, tried}) {
  if (!tried) return gettext("at most {time}, read from the record", {time: duration(saves)});
  if (tried.refusal)
    return gettext("at most {time}; a fork refused it: {refusal}", {time: duration(saves), refusal: tried.refusal});
  if (tried.saves === null) return gettext("tried in a fork: the pod was not bound");
  if (tried.saves > 0)
    return gettext("tried in a fork: bound {time} sooner, to {node}", {time: duration(tried.saves), node: tried.node});
  if (tried.saves < 0)
    return gettext("tried in a fork: bound {time} later, to {node}", {time: duration(-tried.saves), node: tried.node});
  return gettext("tried in a fork: it changes nothing");
}

/** What a fork that is opened with the change promises: see Commands.tryInFork. */
export function promiseOf({title, tried}) {
  return {order: title, node: tried?.node ?? "", at: tried?.at ?? null, outcome: ""};
}

function listed(ids) {
  const names = ids.map((id) => parseId(id).name);
  const rest = names.length - NAMED;
  return rest > 0
    ? gettext("{names} and {rest} more", {names: listText(names.slice(0, NAMED)), rest})
    : listText(names);
}
