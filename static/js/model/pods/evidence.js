/** The evidence of a pod's newest attempt at the event shown, and the state of loading it. */

/** A key that changes whenever another attempt may be the newest; "" for a pod without attempts. */
export function evidenceKey(id, pod) {
  if (!pod?.attempts) return "";
  // `attempts` counts an attempt from its beginning; its end shows in the other attributes.
  return [id, pod.attempts, pod.queue, pod.node, pod.assumed, pod.blocker?.attempt].join(" ");
}

/**
 * {status, evidence, message} for a pod, from what is *held*: "none" without an attempt up to the event shown,
 * else "loading", "ready" or "failed". At the newest event the previous attempt is shown until the newest is
 * loaded; in the past no other attempt is shown.
 */
export function evidenceAt(held, {id, pod, seq, isPast}) {
  const key = evidenceKey(id, pod);
  if (key === "") return {status: "none", evidence: null};
  if (held?.id !== id) return {status: "loading", evidence: null};
  const isNewest = held.key === key && held.status === "ready";
  const evidence = held.evidence && held.evidence.seq <= seq && (isNewest || !isPast) ? held.evidence : null;
  if (held.key !== key) return {status: "loading", evidence};
  return {status: held.status, evidence, message: held.message};
}

/** The state of the evidence of pod *name* in words. */
export function evidenceWords({status, evidence}, name) {
  if (evidence) return `filter results for ${name}, attempt ${evidence.number}`;
  if (status === "none") return `${name} has had no scheduling attempt yet`;
  if (status === "loading") return `loading ${name}'s attempt…`;
  if (status === "failed") return `${name}'s attempt could not be read`;
  return `no scheduling attempt of ${name} has finished yet`;
}
