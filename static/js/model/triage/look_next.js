/** Where to look next for a cause: what changed before, the object behind it, then what it holds. */
import {kindName, minutesBetween, objectName, pageId} from "./words.js";

const MOST = 3;
const NEAR_MINUTES = 11;

/** At most three places, as {id, text}. */
export function lookNext(group, {happened = []}) {
  const entities = [
    group.by,
    ...group.nodes.slice(0, 1).map((name) => `node/${name}`),
    ...group.workloads.slice(0, 1),
    ...closestNode(group),
    ...group.claims.slice(0, 1).map((key) => `persistentvolumeclaim/${key}`),
    ...group.pods.slice(0, 1).map((key) => `pod/${key}`),
  ];
  const places = new Map();
  for (const {id, text} of [...changed(group, happened).slice(0, 1), ...entities.map(placeOf)]) {
    if (id && !places.has(id)) places.set(id, text);
  }
  return [...places].slice(0, MOST).map(([id, text]) => ({id, text}));
}

function placeOf(entity) {
  const id = pageId(entity);
  return {id, text: id && objectName(entity)};
}

function closestNode({nodes_by_reason: nodes}) {
  const closest = nodes.find((each) => each.is_closest);
  return closest ? [`node/${closest.check?.node ?? closest.nodes[0]}`] : [];
}

/** What happened to the group's own objects, or to a node, when its oldest wait began. */
function changed(group, happened) {
  return happened
    .filter(({at}) => {
      const before = minutesBetween(at, group.since);
      return before !== null && before <= NEAR_MINUTES;
    })
    .map(({text}) => ({text, entity: text.match(/^(\S+ \S+)/)?.[1] ?? ""}))
    .filter(({entity}) => group.workloads.includes(entity.replace(" ", "/")) || entity === group.by)
    .map(({text, entity}) => ({id: pageId(entity), text: text.replace(/^\S+/, kindName)}));
}
