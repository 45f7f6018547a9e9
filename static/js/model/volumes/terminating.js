import {moment, parseId} from "../shared/format.js";

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
 * "Terminating since 12.000 s: blocked by the finalizer kubernetes.io/pvc-protection, because pod web uses it."
 * `users` are the pods that mount a claim, [id, pod]; `claimKey` is the claim that a volume is bound to.
 */
export function terminatingWords(object, {users = [], claimKey = "", at}) {
  const since = object.deleting > 0 && object.deleting <= at ? ` since ${moment(object.deleting)} s` : "";
  const finalizers = object.finalizers ?? [];
  if (finalizers.length === 0) return `Terminating${since}: no finalizer is left.`;
  const held = finalizers.map((finalizer) =>
    [finalizer, reasonOf(finalizer, users, claimKey)].filter(Boolean).join(", "),
  );
  return `Terminating${since}: blocked by the ${held.length === 1 ? "finalizer" : "finalizers"} ${held.join("; and ")}.`;
}

function reasonOf(finalizer, users, claimKey) {
  if (finalizer === CLAIM_PROTECTION) return usedBy(users);
  if (finalizer === VOLUME_PROTECTION)
    return claimKey ? `because it is bound to ${claimKey}` : "although no claim is bound to it any more";
  return finalizer.startsWith(ATTACHER) ? "until no node has it attached" : "";
}

/** Finished pods do not block the deletion. Upstream: pvc_protection_controller.go. */
function usedBy(users) {
  const using = users.filter(([, pod]) => pod.phase !== "Succeeded" && pod.phase !== "Failed");
  if (using.length === 0) return "although no pod uses it any more";
  const name = parseId(using[0][0]).name;
  return using.length === 1 ? `because pod ${name} uses it` : `because ${using.length} pods use it, ${name} among them`;
}
