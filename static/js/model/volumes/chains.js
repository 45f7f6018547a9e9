import {gettext} from "../../lib/words.js";
import {placeOf as nodeOf} from "../nodes/nodes.js";
import {isTerminating} from "../shared/terminating.js";
import {bindingMode, claimState} from "./claims.js";

/** The number of chains on one page. */
export const PAGE = 50;

/** The kinds of a chain as [key, words]; "" means all. */
export const KINDS = [
  ["", gettext("All")],
  ["unbound", gettext("Unbound")],
  ["broken", gettext("Broken")],
];

/**
 * The chain pod → claim → volume → class → node of a claim, or of a volume that no claim of another chain has; null for an
 * object that does not exist.
 *
 * A chain is {key, className, claimId, volumeId, link, claimGhost, volumeGhost}. A ghost is the text in place of a
 * missing side. `link` is how claim and volume are joined, null for a volume without a claim:
 *
 *   bound     both name each other               waits     there is no volume yet
 *   left      only the claim names the volume    right     only the volume names the claim
 *   both      both do, but not Bound yet         broken    the named object was deleted or is taken
 *
 * `kind` is bound, unbound (not bound yet) or broken (one side was deleted, or is bound to another object).
 */
export function chainOf(id, claims, entities) {
  if (!entities.has(id)) return null;
  return id.startsWith("claim/") ? claimChain(id, claims, entities) : volumeChain(id, entities);
}

/** Whether an object is the claim or the volume of a chain. */
export function isOf({claimId, volumeId}, id) {
  return id !== null && (claimId === id || volumeId === id);
}

/** The row spans of the classes: 3 at the first of three rows of a class, 0 at the others. */
export function spans(rows) {
  const lengths = rows.map(() => 0);
  let first = 0;
  rows.forEach(({className}, i) => {
    if (className !== rows[first].className) first = i;
    lengths[first] += 1;
  });
  return lengths;
}

/** The accessible names of the links. */
export const LINK_WORDS = {
  bound: gettext("bound"),
  left: gettext("half-bound: the claim's volumeName is set, the volume's claimRef is not"),
  right: gettext("half-bound: the volume's claimRef is set, the claim's volumeName is not"),
  both: gettext("half-bound: both references are set, the phase is not Bound yet"),
  waits: gettext("no volume yet"),
  broken: gettext("broken"),
  ending: gettext("bound, and one of them is terminating"),
};

/** The link of a chain as it is drawn: that of a bound claim or volume that is terminating is not a settled one. */
export function linkLook({link}, claim, volume) {
  return link === "bound" && (isTerminating(claim) || isTerminating(volume)) ? "ending" : link;
}

/**
 * The node of a chain as {name, state, mark, family, words, dashed}: that of the pod that uses it, with the pod's health,
 * else the node to which the volume or the claim is limited; null without any.
 */
export function placeOf(user, health, claim, volume) {
  const name = user && nodeOf(user);
  if (name) {
    const {state, mark, family, words} = health;
    return {name, state, mark, family, words, dashed: !user.node && !user.assumed};
  }
  if (volume?.affinity)
    return {name: volume.affinity.replace(ONE_NODE, ""), mark: null, family: "held", words: gettext("affinity")};
  if (claim?.selected_node)
    return {name: claim.selected_node, mark: "nominated", family: "promised", words: gettext("selected"), dashed: true};
  return null;
}

/** The prefix of an affinity to one node. */
const ONE_NODE = /^hostname In (?=[^\s/]+$)/;

function claimChain(id, claims, entities) {
  const claim = entities.get(id);
  const holder = claims.holder(id, claim);
  const mode = bindingMode(claim, entities);
  const name = claim.volume ?? holder;
  const volume = name && entities.get(`volume/${name}`);
  const joined = joint(claim, claimState(claim, holder, mode), {name, holder, volume});
  return {
    key: id,
    claimId: id,
    volumeId: volume ? `volume/${name}` : null,
    claimGhost: "",
    className: claim.class ?? volume?.class ?? "",
    ...joined,
  };
}

/** How a claim is joined to its volume: kind, link and the text in place of a missing volume. */
function joint(claim, state, {name, holder, volume}) {
  const result = (kind, link, volumeGhost = "") => ({kind, link, volumeGhost});
  if (state === "bound")
    return volume ? result("bound", "bound") : result("broken", "broken", gettext("{name} was deleted", {name}));
  if (state === "lost")
    return result(
      "broken",
      "broken",
      volume ? "" : name ? gettext("{name} was deleted", {name}) : gettext("its volume was deleted"),
    );
  if (state === "waiting") return result("unbound", "waits", gettext("waits for its first consumer"));
  if (state === "provisioning")
    return result("unbound", "waits", gettext("provisioning for {node}", {node: claim.selected_node}));
  if (state === "pending") return result("unbound", "waits", gettext("no volume fits yet"));
  if (!volume)
    return claim.completed
      ? result("broken", "broken", gettext("{name} was deleted", {name}))
      : result("unbound", "left", gettext("{name} does not exist", {name}));
  if (!claim.volume) return result("unbound", "right");
  return result("unbound", holder === name ? "both" : "left");
}

function volumeChain(id, entities) {
  const volume = entities.get(id);
  const chain = {
    key: id,
    claimId: null,
    volumeId: id,
    volumeGhost: "",
    claimGhost: "",
    className: volume.class ?? "",
    kind: volume.phase === "Failed" ? "broken" : "unbound",
    link: null,
  };
  if (!volume.claim) return chain;
  const ended = volume.phase === "Released" || volume.phase === "Failed" || volume.phase === "Bound";
  return {
    ...chain,
    kind: ended ? "broken" : "unbound",
    link: ended ? "broken" : "right",
    claimGhost: ghostOf(volume, ended, entities),
  };
}

function ghostOf({claim: key}, ended, entities) {
  const claim = entities.get(`claim/${key}`);
  if (!claim) return ended ? gettext("{key} was deleted", {key}) : gettext("{key} does not exist yet", {key});
  return claim.volume
    ? gettext("{key} is bound to {volume}", {key, volume: claim.volume})
    : gettext("an earlier {key}", {key});
}
