import {gettext, sentences} from "../../lib/words.js";
import {bytes, duration, timeText} from "../shared/format.js";
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
    const sentence = gettext("Failed: its claim {claimKey} was deleted, and reclaiming the volume failed.", {claimKey});
    return answer("stuck", sentence, elapsed(binding));
  }
  if (volume.phase === "Released") return releasedAnswer(binding);
  if (!volume.claim) return freeAnswer(volume);
  return claimedAnswer(binding);
}

function missingWords({events, volumeId, volumeName}) {
  const deletion = events.findLast(({changes}) => changes?.[volumeId] === null);
  return deletion
    ? gettext("{volumeName} was deleted at {time}.", {volumeName, time: timeText(deletion.at)})
    : gettext("{volumeName} is not in the cluster at this moment.", {volumeName});
}

function releasedAnswer(binding) {
  const {volume, volumeName, volumeId, claimKey} = binding;
  if (volume.reclaim !== "Retain")
    return answer(
      "held",
      gettext("Released: its claim {claimKey} was deleted; {reclaim} comes next.", {claimKey, reclaim: volume.reclaim}),
      elapsed(binding),
    );
  const fix = {
    text: gettext("Remove the claimRef of {volumeName} to make it Available again", {volumeName}),
    object: volumeId,
    patch: {spec: {claimRef: null}},
  };
  const sentence = gettext(
    "Released: its claim {claimKey} was deleted; the volume keeps its data and no other claim can bind to it.",
    {claimKey},
  );
  return answer("held", sentence, elapsed(binding), [fix]);
}

function freeAnswer({phase, class: className, capacity = 0}) {
  const sentence = className
    ? gettext("{phase}: any claim of class {class} that requests at most {capacity} can bind to it.", {
        phase,
        class: className,
        capacity: bytes(capacity),
      })
    : gettext("{phase}: any claim of class none that requests at most {capacity} can bind to it.", {
        phase,
        capacity: bytes(capacity),
      });
  return answer("ready", sentence, {value: bytes(capacity), words: gettext("free")});
}

/** The answer about a volume whose claimRef names a claim. */
function claimedAnswer(binding) {
  const {volume, volumeName, claim, claimKey, state} = binding;
  if (!claim)
    return answer(
      "promised",
      gettext("Reserved for {claimKey}, but that claim does not exist.", {claimKey}),
      elapsed(binding),
    );
  if (claim.volume && claim.volume !== volumeName) {
    const sentence = gettext("Reserved for {claimKey}, but that claim's volumeName is {volume}.", {
      claimKey,
      volume: claim.volume,
    });
    return answer("stuck", sentence, elapsed(binding));
  }
  const ofClaim = claimAnswer(binding, null, claimKey);
  if (isTerminating(claim)) {
    const leaving = gettext("{volumeName} is {phase}; its claim {claimKey} is being deleted.", {
      volumeName,
      phase: volume.phase,
      claimKey,
    });
    return answer("stuck", sentences([leaving, ofClaim.sentence]));
  }
  if (state !== "bound") return ofClaim;
  return {...ofClaim, sentence: gettext("Bound to {claimKey}: claim and volume refer to each other.", {claimKey})};
}

/** How long the volume has been in its phase, as a figure. */
function elapsed({volume, since, at}) {
  if (since === null) return null;
  const words =
    volume.phase === "Available" ? gettext("reserved") : gettext("since it became {phase}", {phase: volume.phase});
  return {value: duration(at - since), words};
}
