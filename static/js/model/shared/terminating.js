import {clauses, gettext, labelled, listText, ngettext} from "../../lib/words.js";
import {parseId, timeText} from "./format.js";

const CLAIM_PROTECTION = "kubernetes.io/pvc-protection";
const VOLUME_PROTECTION = "kubernetes.io/pv-protection";
const ATTACHER = "external-attacher/";

/** The look of an object that is deleted but still has finalizers. */
export const TERMINATING = {mark: "victim", family: "stuck", text: "Terminating"};

/** Whether an object is being deleted. */
export function isTerminating(object) {
  return object?.deleting !== undefined;
}

/** The look of an object: `look`, unless it is terminating. */
export function lookOf(object, look) {
  return isTerminating(object) ? TERMINATING : look;
}

/**
 * What delays the deletion of an object: "Terminating since 12.000 s: blocked by the finalizer
 * kubernetes.io/pvc-protection, because pod web uses it."; "" if it is not terminating. `model` is the state
 * that is shown: {entities, claims, at}.
 */
export function holdWords(id, {entities, claims, at}) {
  const object = entities.get(id);
  if (!isTerminating(object)) return "";
  const {kind} = parseId(id);
  if (kind === "pod") return podTerminatingWords(object, {node: entities.get(`node/${object.node}`), at});
  if (kind === "claim") return terminatingWords(object, {users: claims.usersOf(id, entities), at});
  const claimKey = kind === "volume" && entities.has(`claim/${object.claim}`) ? object.claim : "";
  return terminatingWords(object, {claimKey, at});
}

/**
 * As `holdWords`, for a claim or volume whose surroundings are known: `users` are the pods that mount a claim,
 * [id, pod]; `claimKey` is the claim that a volume is bound to.
 */
export function terminatingWords(object, {users = [], claimKey = "", at}) {
  const finalizers = object.finalizers ?? [];
  const since = sinceOf(object, at);
  if (finalizers.length === 0) return labelled(since, gettext("no finalizer is left."));
  const held = finalizers.map((finalizer) =>
    listText([finalizer, reasonOf(finalizer, users, claimKey)].filter(Boolean)),
  );
  if (held.length === 1) return labelled(since, gettext("blocked by the finalizer {finalizer}.", {finalizer: held[0]}));
  return labelled(since, gettext("blocked by the finalizers {finalizers}.", {finalizers: clauses(held)}));
}

/** As `holdWords`, for a pod on *node*, which is undefined if it does not exist. */
export function podTerminatingWords(pod, {node, at}) {
  if (pod.finalizers?.length > 0 || !pod.node) return terminatingWords(pod, {at});
  return labelled(sinceOf(pod, at), endingWords(pod.node, node));
}

function endingWords(name, node) {
  if (!node)
    return gettext("node {name} does not exist, so no kubelet confirms that its containers have ended.", {name});
  if (!node.ready)
    return gettext("node {name} is NotReady, so no kubelet confirms that its containers have ended.", {name});
  return gettext("the kubelet of {name} ends its containers within the grace period.", {name});
}

/** The beginning of what is said of a terminating object. */
function sinceOf({deleting}, at) {
  if (deleting > at) return gettext("Terminating, its grace ends at {time}", {time: timeText(deleting)});
  return deleting > 0 ? gettext("Terminating since {time}", {time: timeText(deleting)}) : "Terminating";
}

function reasonOf(finalizer, users, claimKey) {
  if (finalizer === CLAIM_PROTECTION) return usedBy(users);
  if (finalizer === VOLUME_PROTECTION)
    return claimKey
      ? gettext("because it is bound to {claimKey}", {claimKey})
      : gettext("although no claim is bound to it any more");
  return finalizer.startsWith(ATTACHER) ? gettext("until no node has it attached") : "";
}

/** Whether all containers of a pod have ended for good; it needs nothing of its node any more. */
export function isFinished(pod) {
  return pod.phase === "Succeeded" || pod.phase === "Failed";
}

/** Finished pods do not block the deletion. Upstream: pvc_protection_controller.go. */
function usedBy(users) {
  const using = users.filter(([, pod]) => !isFinished(pod));
  if (using.length === 0) return gettext("although no pod uses it any more");
  const name = parseId(using[0][0]).name;
  return ngettext("because pod {name} uses it", "because {count} pods use it, {name} among them", using.length, {name});
}
