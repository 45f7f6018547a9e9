/** What would have shortened a path, in words; docs/timeline.md has the names of the changes. */
import {duration, parseId} from "../shared/format.js";

/** More are not worth reading. */
const SHOWN = 5;
const NAMED = 3;

const TITLES = {
  grace: ({objects, amount}) => `A grace of ${amount} s for ${listed(objects)}`,
  priority: ({objects, amount}) => `A priority of ${amount}, above ${listed(objects)}`,
  node: () => "One more node with room for it",
  gate: () => "Its scheduling gates removed at once",
  queue: () => "A priority above the pods before it in the queue",
  backoff: () => "A shorter backoff: the room was there",
  volume: () => "Volumes that are bound before the pod comes",
  attach: () => "A volume that attaches at once",
  kubelet: () => "A kubelet that looks again at once",
  mount: () => "A volume that mounts at once",
  start: () => "Images that are on the node, and containers that start at once",
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
  if (!tried) return `at most ${duration(saves)}, read from the record`;
  if (tried.refusal) return `at most ${duration(saves)}; a fork refused it: ${tried.refusal}`;
  if (tried.saves === null) return "tried in a fork: the pod was not bound";
  if (tried.saves > 0) return `tried in a fork: bound ${duration(tried.saves)} sooner, to ${tried.node}`;
  if (tried.saves < 0) return `tried in a fork: bound ${duration(-tried.saves)} later, to ${tried.node}`;
  return "tried in a fork: it changes nothing";
}

/** What a fork that is opened with the change promises: see Commands.tryInFork. */
export function promiseOf({title, tried}) {
  return {order: title, node: tried?.node ?? "", at: tried?.at ?? null, outcome: ""};
}

function listed(ids) {
  const names = ids.map((id) => parseId(id).name);
  const rest = names.length - NAMED;
  return rest > 0 ? `${names.slice(0, NAMED).join(", ")} and ${rest} more` : names.join(", ");
}
