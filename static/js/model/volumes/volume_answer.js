import {bytes, duration, moment} from "../shared/format.js";
import {answer, claimAnswer} from "./claim_answer.js";
import {isTerminating, terminatingWords} from "../shared/terminating.js";

/** What state a volume is in, why, and since when; see `answer`. */
export function volumeAnswer(binding) {
  const {volume, volumeName, claim, claimKey, at} = binding;
  if (!volume) return answer("held", missingWords(binding));
  if (isTerminating(volume)) {
    const boundTo = claim && claim.volume === volumeName ? claimKey : "";
    return answer("stuck", terminatingWords(volume, {at, claimKey: boundTo}));
  }
  if (volume.phase === "Failed") {
    const sentence = `Failed: its claim ${claimKey} was deleted, and reclaiming the volume failed.`;
    return answer("stuck", sentence, elapsed(binding));
  }
  if (volume.phase === "Released") return releasedAnswer(binding);
  if (!volume.claim) return freeAnswer(volume);
  return claimedAnswer(binding);
}

function missingWords({events, volumeId, volumeName}) {
  const deletion = events.findLast(({changes}) => changes?.[volumeId] === null);
  return `${volumeName} ${deletion ? `was deleted at ${moment(deletion.at)} s` : "is not in the cluster at this moment"}.`;
}

function releasedAnswer(binding) {
  const {volume, volumeName, volumeId, claimKey} = binding;
  const released = `Released: its claim ${claimKey} was deleted`;
  if (volume.reclaim !== "Retain")
    return answer("held", `${released}; ${volume.reclaim} comes next.`, elapsed(binding));
  const fix = {
    text: `Remove the claimRef of ${volumeName} to make it Available again`,
    object: volumeId,
    patch: {spec: {claimRef: null}},
  };
  const sentence = `${released}; the volume keeps its data and no other claim can bind to it.`;
  return answer("held", sentence, elapsed(binding), [fix]);
}

function freeAnswer({phase, class: className, capacity = 0}) {
  const who = `any claim of class ${className ?? "none"} that requests at most ${bytes(capacity)}`;
  return answer("ready", `${phase}: ${who} can bind to it.`, {value: bytes(capacity), words: "free"});
}

/** The answer about a volume whose claimRef names a claim. */
function claimedAnswer(binding) {
  const {volume, volumeName, claim, claimKey, state} = binding;
  if (!claim) return answer("promised", `Reserved for ${claimKey}, but that claim does not exist.`, elapsed(binding));
  if (claim.volume && claim.volume !== volumeName) {
    const sentence = `Reserved for ${claimKey}, but that claim's volumeName is ${claim.volume}.`;
    return answer("stuck", sentence, elapsed(binding));
  }
  const ofClaim = claimAnswer(binding, null, claimKey);
  if (isTerminating(claim)) {
    const leaving = `${volumeName} is ${volume.phase}; its claim ${claimKey} is being deleted.`;
    return answer("stuck", `${leaving} ${ofClaim.sentence}`);
  }
  if (state !== "bound") return ofClaim;
  return {...ofClaim, sentence: `Bound to ${claimKey}: claim and volume refer to each other.`};
}

/** How long the volume has been in its phase, as a figure. */
function elapsed({volume, since, at}) {
  if (since === null) return null;
  const words = volume.phase === "Available" ? "reserved" : `since it became ${volume.phase}`;
  return {value: duration(at - since), words};
}
