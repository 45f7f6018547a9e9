import {gettext} from "../../lib/words.js";
import {userOf} from "./claims.js";

/** Mark, family and words of a verdict of matching (engine/storage/matching/matching.py names the rules). */
const LOOK = {
  chosen: ["ok", "settled", gettext("Chosen")],
  fits: ["ok", "held", gettext("Fits")],
  delayed: ["pending", "clock", gettext("Not yet")],
  size: ["no", "stuck", gettext("Too small")],
  "access-modes": ["no", "stuck", gettext("Access mode")],
  "volume-mode": ["no", "stuck", gettext("Volume mode")],
  "node-affinity": ["no", "stuck", gettext("Node affinity")],
  "attributes-class": ["no", "stuck", gettext("Attributes")],
  class: ["no", "stuck", gettext("Class")],
  selector: ["no", "stuck", gettext("Selector")],
  claimed: ["no", "stuck", gettext("Taken")],
  phase: ["no", "stuck", gettext("Phase")],
  deleting: ["no", "stuck", gettext("Being deleted")],
  reserved: ["no", "stuck", gettext("Reserved for another claim")],
  named: ["no", "stuck", gettext("Not the claim's volumeName")],
  excluded: ["no", "stuck", gettext("Reserved")],
};

/** A verdict as [mark, family, words]. While the claim is `open`, the first volume is "Best", not "Chosen". */
export function verdictLook(rule, open = false) {
  if (rule === "chosen" && open) return ["ok", "settled", gettext("Best")];
  return LOOK[rule] ?? ["no", "stuck", rule];
}

/** The events that choose a volume for a claim or request provisioning. */
const CHOICES = ["VolumePreBound", "ClaimNodeSelected", "VolumeProvisioned"];

/**
 * The request for the candidates of a binding: the volumes for its claim, else the claims for its volume; null
 * without either. {of, path, node, seq}: `of` is the id of the object and `seq` the event before a volume was
 * chosen, null for the event shown.
 */
export function questionOf(binding, entities) {
  const {claim, claimKey, claimId, volume, volumeId, volumeName, events, state} = binding;
  if (!claim) return volume ? {of: volumeId, path: `volumes/${volumeName}/claimants/`, seq: null} : null;
  const chose = state === "bound" || state === "half" ? choiceOf(binding, events) : null;
  const path = `claims/${claimKey}/candidates/`;
  return {of: claimId, path, node: nodeFor(binding, entities), seq: chose ? chose.seq - 1 : null};
}

function choiceOf({volumeId, claimId, claimKey}, events) {
  for (const kind of CHOICES) {
    const found = events.findLast(
      (event) => event.kind === kind && (event.object === volumeId || event.object === claimId),
    );
    // The choice of a volume that was reserved for the claim only adds the claim's uid.
    if (found && (kind !== "VolumePreBound" || found.message.endsWith(` ${claimKey}`))) return found;
  }
  return null;
}

/** The node for which the scheduler checks: that of the pod, or the closest to fitting. */
function nodeFor({claim, users}, entities) {
  const pod = userOf(users)?.[1];
  const names = [claim.selected_node, pod?.node, pod?.assumed, pod?.nominated, pod?.blocker?.node];
  return names.find((name) => name && entities.has(`node/${name}`)) ?? "";
}

/** If no volume fits, the closest one: {volume, text}, else null. */
export function nearestOf(answer) {
  if (!answer?.candidates || answer.fits > 0 || answer.chosen) return null;
  return answer.candidates[0] ?? null;
}

/** "as the scheduler checks for n1 · 2 of 9 fit · in matching order". */
export function askedWords({asker, node, delayed, fits, volumes, claims}) {
  if (claims !== undefined) return gettext("ignoring node affinity · fits {fits} of {claims} claims", {fits, claims});
  const who =
    asker === "scheduler"
      ? gettext("as the scheduler checks for {node}", {node})
      : delayed
        ? gettext("as the PV controller matches, no node to check yet")
        : gettext("as the PV controller matches");
  if (volumes === 0) return who;
  return [who, gettext("{fits} of {volumes} fit", {fits, volumes}), gettext("in matching order")].join(" · ");
}
