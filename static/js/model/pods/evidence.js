import {gettext, listText, ngettext} from "../../lib/words.js";

/** The evidence of a pod's newest attempt at the event shown, and the state of loading it. */

/**
 * A key that changes whenever another attempt may be the newest; "" for a pod without attempts. A shadow decision
 * is one, too, although the pod counts only those of the run's own scheduler.
 */
export function evidenceKey(id, pod) {
  if (!pod?.attempts && !pod?.shadow) return "";
  // `attempts` counts an attempt from its beginning; its end shows in the other attributes.
  return [id, pod.attempts, pod.queue, pod.node, pod.assumed, pod.blocker?.attempt, pod.shadow].join(" ");
}

/**
 * {status, evidence, message} for a pod, from what is *held*: "none" without an attempt up to the event shown,
 * "unneeded" if it has a node nevertheless, else "loading", "ready" or "failed". At the newest event the previous attempt is shown until the newest is
 * loaded; in the past no other attempt is shown.
 */
export function evidenceAt(held, {id, pod, seq, isPast}) {
  const key = evidenceKey(id, pod);
  if (key === "") return {status: pod?.node ? "unneeded" : "none", evidence: null};
  if (held?.id !== id) return {status: "loading", evidence: null};
  const isNewest = held.key === key && held.status === "ready";
  const evidence = held.evidence && held.evidence.seq <= seq && (isNewest || !isPast) ? held.evidence : null;
  if (held.key !== key) return {status: "loading", evidence};
  return {status: held.status, evidence, message: held.message};
}

/** Whether kscope decided beside a client that decides on the pod: its decisions belong to no scheduling cycle. */
export function isShadow({cycle}) {
  return cycle === 0;
}

/** What a piece of evidence is of: "attempt 2". */
export function attemptName(evidence) {
  const {number} = evidence;
  return isShadow(evidence) ? gettext("shadow decision {number}", {number}) : gettext("attempt {number}", {number});
}

/** "4 events since then", "" if nothing has happened since an attempt that ended at *seq*; `now` is the event shown. */
export function sinceWords({seq}, {seq: now}) {
  const since = now - seq;
  if (!(since > 0)) return "";
  return ngettext("{count} event since then", "{count} events since then", since);
}

/** The state of the evidence of pod *name* in words. */
export function evidenceWords({status, evidence}, name) {
  if (evidence) return listText([gettext("filter results for {name}", {name}), attemptName(evidence)]);
  if (status === "unneeded") return gettext("{name} was bound without a scheduling attempt", {name});
  if (status === "none") return gettext("{name} has had no scheduling attempt yet", {name});
  if (status === "loading") return gettext("loading {name}'s attempt…", {name});
  if (status === "failed") return gettext("{name}'s attempt could not be read", {name});
  return gettext("no scheduling attempt of {name} has finished yet", {name});
}
