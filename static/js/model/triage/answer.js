/**
 * What is stuck in a cluster, as it comes in parts: the causes first, then the changes of each group, and what
 * the best of them do together. See docs/why-pending.md.
 */

/** The causes that a page of a large cluster shows as lines before the rest is opened. */
export const MOST_LINES = 12;
const MOST_DOTS = 60;
const MANY_NODES = 500;

/** An answer with one more part of it. */
export function joined(triage, part) {
  if (triage === null) return {...part, answered: part.is_whole ? part.groups.length : 0};
  if (!("group" in part)) return {...triage, ...part};
  const {group: place, ...found} = part;
  const groups = triage.groups.map((group, index) =>
    index === place ? {...group, ...found, isAnswered: true} : group,
  );
  return {...triage, groups, answered: triage.answered + 1};
}

/** Whether an answer is complete with this part. */
export function isWhole(part) {
  return part.is_whole === true || ("together" in part && !("groups" in part));
}

/** The groups with their places, as {pending, others}: those of pods without a node, and what else is stuck. */
export function split(triage) {
  const placed = triage.groups.map((group, place) => ({...group, place}));
  return {
    pending: placed.filter(({kind}) => kind === "pending"),
    others: placed.filter(({kind}) => kind !== "pending"),
  };
}

/** Whether the page has one line for each cause instead of a card. */
export function isLarge({groups, looked_at: seen}) {
  const pending = groups.filter(({kind}) => kind === "pending");
  return groups.length > MOST_LINES || pending.some(({pods}) => pods.length > MOST_DOTS) || seen.node > MANY_NODES;
}

/** How far the trial of a group is: "tried", "waits" or "failed"; `status` is that of the whole answer. */
export function trialState(group, status) {
  if (status === "ready" || group.isAnswered || group.changes.length > 0 || group.conclusion) return "tried";
  return status === "failed" ? "failed" : "waits";
}

/** The place of the group that holds the object of this key, or that a part of it names; -1 for none. */
export function groupOf(triage, text) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return -1;
  const keys = (group) => [
    ...group.pods,
    ...group.claims,
    ...group.nodes,
    ...group.namespaces,
    ...group.objects,
    ...group.workloads,
  ];
  const isNamed = (key) => key.toLowerCase() === wanted || key.toLowerCase().endsWith(`/${wanted}`);
  const exact = triage.groups.findIndex((group) => keys(group).some(isNamed));
  if (exact >= 0) return exact;
  return triage.groups.findIndex((group) => keys(group).some((key) => key.toLowerCase().includes(wanted)));
}

/** How many pods and other objects a group holds. */
export function sizeOf({pods, pods_missing: missing, claims, nodes, namespaces, objects}) {
  return pods.length + missing + claims.length + nodes.length + namespaces.length || objects.length;
}
