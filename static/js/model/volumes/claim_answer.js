import {gettext, labelled, sentences} from "../../lib/words.js";
import {blockerWords} from "../health/pod.js";
import {bytes, duration, parseId, timeText} from "../shared/format.js";
import {hasLostVolume} from "./binding.js";
import {userOf} from "./claims.js";
import {isTerminating, terminatingWords} from "../shared/terminating.js";

/**
 * An answer: a sentence, at most one number, and changes that would help.
 *
 * @param {string} family
 * @param {string} sentence
 * @param {{value: string, words: string} | null} [figure]
 * @param {{text: string, object?: string, patch?: any}[]} [fixes] Without an object it cannot be done by a button.
 */
export function answer(family, sentence, figure = null, fixes = []) {
  return {family, sentence, figure, fixes};
}

/**
 * What state a claim is in, why, and since when; see `answer`. `nearest` is the verdict on the volume that
 * comes closest to fitting, or null; `called` is the name of the claim, "" for "this claim".
 */
export function claimAnswer(binding, nearest = null, called = "") {
  const {state, claim, claimKey, volume, volumeName} = binding;
  if (!claim) return answer("held", gettext("Claim {claimKey} is not in the cluster at this moment.", {claimKey}));
  if (isTerminating(claim)) {
    const rest = state === "bound" && gettext("It is still bound to {volumeName}.", {volumeName});
    return answer("stuck", sentences([terminatingWords(claim, binding), rest]));
  }
  if (state === "bound")
    return answer(
      "settled",
      gettext("Bound to {volumeName}: claim and volume refer to each other.", {volumeName}),
      sizes(claim, volume),
    );
  if (state === "lost") return lostAnswer(binding);
  if (state === "half") return halfAnswer(binding, called);
  if (state === "provisioning") return provisioningAnswer(binding);
  if (state === "waiting") return waitingAnswer(binding);
  return pendingAnswer(binding, nearest);
}

function provisioningAnswer(binding) {
  const {claim, storageClass} = binding;
  const facts = {request: bytes(claim.request ?? 0), node: claim.selected_node};
  const provisioner = storageClass?.provisioner;
  const words = provisioner
    ? gettext("Waiting for {provisioner} to provision {request} for {node}", {...facts, provisioner})
    : gettext("Waiting for its provisioner to provision {request} for {node}", facts);
  return answer("clock", ended(labelled(words, lastFailure(binding))), elapsed(binding));
}

/** A claim of a class with WaitForFirstConsumer. */
function waitingAnswer(binding) {
  const {claim, users} = binding;
  const user = userOf(users);
  if (!user) {
    const sentence = gettext(
      "Waiting for its first consumer: class {class} binds a claim when a pod that uses it is scheduled, and no pod uses this claim.",
      {class: claim.class},
    );
    return answer("clock", sentence, elapsed(binding));
  }
  const [id, pod] = user;
  const words = gettext("Waiting for pod {name} to be scheduled", {name: parseId(id).name});
  return answer("clock", ended(labelled(words, blockerWords(pod))), elapsed(binding));
}

function pendingAnswer(binding, nearest) {
  const {claim, storageClass, mode} = binding;
  const waited = elapsed(binding);
  if (!claim.class)
    return answer("clock", gettext("The claim has no class, and no volume without a class fits."), waited);
  if (!storageClass && !mode) {
    const sentence = gettext("No volume fits, and none is provisioned because class {class} does not exist.", {
      class: claim.class,
    });
    return answer("stuck", sentence, waited);
  }
  if (nearest) {
    const {volume, text} = nearest;
    return answer("clock", gettext("No volume fits; the closest is {volume}: {text}.", {volume, text}), waited);
  }
  return answer("clock", ended(labelled(gettext("No volume fits"), lastFailure(binding))), waited);
}

function halfAnswer(binding, called) {
  const {claim, volume, volumeName, holder} = binding;
  if (hasLostVolume(binding))
    return answer(
      "stuck",
      gettext("Its volume {volumeName} was deleted; the claim is not marked Lost yet.", {volumeName}),
    );
  const waited = elapsed(binding);
  if (!volume)
    return answer(
      "promised",
      gettext("The claim's volumeName is {volumeName}, but that volume does not exist.", {volumeName}),
      waited,
    );
  if (claim.volume && holder !== claim.volume) {
    const words = volume.claim
      ? gettext("The claim's volumeName is {volumeName}, but that volume is reserved for {claim}", {
          volumeName,
          claim: volume.claim,
        })
      : gettext("The claim's volumeName is {volumeName}, but the volume's claimRef is not set yet", {volumeName});
    return answer("promised", ended(labelled(words, lastRejection(binding))), waited);
  }
  if (!claim.volume) return reservedAnswer(binding, called, waited);
  return unfinishedAnswer(binding, waited);
}

/** The volume names the claim, the claim does not name the volume. */
function reservedAnswer(binding, called, waited) {
  const {claim, volume, volumeName, volumeId} = binding;
  const [request, capacity] = [claim.request ?? 0, volume.capacity ?? 0];
  if (capacity >= request) {
    const words = called
      ? gettext("{volumeName} is reserved for {claim}, but the claim's volumeName is not set yet", {
          volumeName,
          claim: called,
        })
      : gettext("{volumeName} is reserved for this claim, but the claim's volumeName is not set yet", {volumeName});
    return answer("promised", ended(labelled(words, lastRejection(binding))), waited);
  }
  const figure = {
    value: bytes(request - capacity),
    words: gettext("too small: {capacity} for a request of {request}", {
      capacity: bytes(capacity),
      request: bytes(request),
    }),
  };
  const fix = {
    text: gettext("Increase {volumeName} to {request}", {volumeName, request: bytes(request)}),
    object: volumeId,
    patch: {spec: {capacity: {storage: String(request)}}},
  };
  const sentence = called
    ? gettext("{volumeName} is reserved for {claim}, but is too small for it.", {volumeName, claim: called})
    : gettext("{volumeName} is reserved for this claim, but is too small for it.", {volumeName});
  return answer("promised", sentence, figure, [fix]);
}

/** Both name each other, and one of them is not Bound. */
function unfinishedAnswer(binding, waited) {
  const {claim, claimKey, volume, volumeName} = binding;
  const words =
    volume.phase === "Bound"
      ? gettext("{claimKey} and {volumeName} refer to each other, but the claim's phase is still {phase}", {
          claimKey,
          volumeName,
          phase: claim.phase,
        })
      : gettext("{claimKey} and {volumeName} refer to each other, but the phase of {volumeName} is still {phase}", {
          claimKey,
          volumeName,
          phase: volume.phase,
        });
  return answer("promised", ended(labelled(words, lastRejection(binding))), waited);
}

function lostAnswer(binding) {
  const {volume, volumeId, volumeName, claimKey, events} = binding;
  const waited = elapsed(binding);
  const recreate = {
    text: gettext("Delete and recreate {claimKey}: a Lost claim is never bound to a different volume", {claimKey}),
  };
  if (volume) {
    const sentence = volume.claim
      ? gettext("Lost: it was bound to {volumeName}, which is now bound to {claim}.", {volumeName, claim: volume.claim})
      : gettext("Lost: it was bound to {volumeName}, which is now not bound.", {volumeName});
    return answer("stuck", sentence, waited, [recreate]);
  }
  const deletion = events.findLast(({changes}) => changes?.[volumeId] === null);
  const restore = {
    text: gettext("Create {volumeName} again without a claimRef: the claim is then bound to it again", {volumeName}),
  };
  const fixes = volumeName ? [restore, recreate] : [recreate];
  return answer("stuck", goneWords(volumeName, deletion), waited, fixes);
}

function goneWords(volumeName, deletion) {
  if (volumeName && deletion)
    return gettext("Lost: its volume {volumeName} was deleted at {time}.", {volumeName, time: timeText(deletion.at)});
  if (volumeName) return gettext("Lost: its volume {volumeName} is not in the cluster.", {volumeName});
  if (deletion) return gettext("Lost: its volume was deleted at {time}.", {time: timeText(deletion.at)});
  return gettext("Lost: its volume is not in the cluster.");
}

function ended(words) {
  return gettext("{words}.", {words});
}

/** "a write was rejected 3.40 s ago", unless a later write succeeded. */
function lastRejection({events, claimId, volumeId, at}) {
  const last = events.findLast(
    ({kind, object, changes}) => (object === claimId || object === volumeId) && (changes || kind === "WriteRefused"),
  );
  return last?.kind === "WriteRefused"
    ? gettext("a write was rejected {time} ago", {time: duration(at - last.at)})
    : "";
}

/** Why provisioning failed last, unless the claim's trouble says so already. */
function lastFailure({events, claimId, claim}) {
  if (claim?.trouble) return "";
  const failed = events.findLast(({kind, object}) => kind === "ProvisioningFailed" && object === claimId);
  return failed?.message ?? "";
}

/** How long the claim has been in its state, as a figure. */
function elapsed({since, at, state}) {
  if (since === null) return null;
  const words = {half: gettext("half-bound"), lost: gettext("since it became Lost")}[state] ?? gettext("waited");
  return {value: duration(at - since), words};
}

/** The capacity beside the request, as a figure: "20 Gi for a request of 10 Gi, 10 Gi more". */
function sizes({request}, volume) {
  if (!request || !volume?.capacity) return null;
  return {value: bytes(volume.capacity), words: sizeWords(bytes(request), volume.capacity - request)};
}

function sizeWords(request, more) {
  if (more > 0) return gettext("for a request of {request}, {more} more", {request, more: bytes(more)});
  if (more < 0) return gettext("for a request of {request}, {less} less", {request, less: bytes(-more)});
  return gettext("for a request of {request}", {request});
}
