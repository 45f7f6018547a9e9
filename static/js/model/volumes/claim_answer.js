import {gettext} from "../../lib/words.js";
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
 * comes closest to fitting, or null; `called` is how the sentence calls the claim.
 */
export function claimAnswer(binding, nearest = null, called = gettext("this claim")) {
  const {state, claim, claimKey, volume, volumeName} = binding;
  if (!claim) return answer("held", gettext("Claim {claimKey} is not in the cluster at this moment.", {claimKey}));
  if (isTerminating(claim)) {
    const rest = state === "bound" ? gettext(" It is still bound to {volumeName}.", {volumeName}) : "";
    return answer("stuck", `${terminatingWords(claim, binding)}${rest}`);
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
  const provisioner = storageClass?.provisioner ?? gettext("its provisioner");
  const request = gettext("provision {request} for {selected_node}", {
    request: bytes(claim.request ?? 0),
    selected_node: claim.selected_node,
  });
  return answer(
    "clock",
    gettext("Waiting for {provisioner} to {request}{lastFailure}.", {
      provisioner,
      request,
      lastFailure: lastFailure(binding),
    }),
    elapsed(binding),
  );
}

/** A claim of a class with WaitForFirstConsumer. */
function waitingAnswer(binding) {
  const {claim, users} = binding;
  const user = userOf(users);
  if (!user) {
    const rule = gettext("class {class} binds a claim when a pod that uses it is scheduled", {class: claim.class});
    return answer(
      "clock",
      gettext("Waiting for its first consumer: {rule}, and no pod uses this claim.", {rule}),
      elapsed(binding),
    );
  }
  const [id, pod] = user;
  const reason = blockerWords(pod) ? `: ${blockerWords(pod)}` : "";
  return answer(
    "clock",
    gettext("Waiting for pod {name} to be scheduled{reason}.", {name: parseId(id).name, reason}),
    elapsed(binding),
  );
}

function pendingAnswer(binding, nearest) {
  const {claim, storageClass, mode} = binding;
  const waited = elapsed(binding);
  if (!claim.class)
    return answer("clock", gettext("The claim has no class, and no volume without a class fits."), waited);
  if (!storageClass && !mode) {
    const reason = gettext("none is provisioned because class {class} does not exist", {class: claim.class});
    return answer("stuck", gettext("No volume fits, and {reason}.", {reason}), waited);
  }
  const closest = nearest
    ? gettext("; the closest is {volume}: {text}", {volume: nearest.volume, text: nearest.text})
    : "";
  return answer("clock", gettext("No volume fits{closest}.", {closest: closest || lastFailure(binding)}), waited);
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
    const obstacle = volume.claim
      ? gettext("that volume is reserved for {claim}", {claim: volume.claim})
      : gettext("the volume's claimRef is not set yet");
    const sentence = gettext("The claim's volumeName is {volumeName}, but {obstacle}{lastRejection}.", {
      volumeName,
      obstacle,
      lastRejection: lastRejection(binding),
    });
    return answer("promised", sentence, waited);
  }
  if (!claim.volume) return reservedAnswer(binding, called, waited);
  return unfinishedAnswer(binding, waited);
}

/** The volume names the claim, the claim does not name the volume. */
function reservedAnswer(binding, called, waited) {
  const {claim, volume, volumeName, volumeId} = binding;
  const [request, capacity] = [claim.request ?? 0, volume.capacity ?? 0];
  if (capacity >= request) {
    const missing = gettext("the claim's volumeName is not set yet{lastRejection}", {
      lastRejection: lastRejection(binding),
    });
    return answer(
      "promised",
      gettext("{volumeName} is reserved for {called}, but {missing}.", {volumeName, called, missing}),
      waited,
    );
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
  return answer(
    "promised",
    gettext("{volumeName} is reserved for {called}, but is too small for it.", {volumeName, called}),
    figure,
    [fix],
  );
}

/** Both name each other, and one of them is not Bound. */
function unfinishedAnswer(binding, waited) {
  const {claim, claimKey, volume, volumeName} = binding;
  const missing =
    volume.phase === "Bound"
      ? gettext("the claim's phase is still {phase}", {phase: claim.phase})
      : gettext("the phase of {volumeName} is still {phase}", {volumeName, phase: volume.phase});
  const sentence = gettext("{claimKey} and {volumeName} refer to each other, but {missing}{lastRejection}.", {
    claimKey,
    volumeName,
    missing,
    lastRejection: lastRejection(binding),
  });
  return answer("promised", sentence, waited);
}

function lostAnswer(binding) {
  const {volume, volumeId, volumeName, claimKey, events} = binding;
  const waited = elapsed(binding);
  const recreate = {
    text: gettext("Delete and recreate {claimKey}: a Lost claim is never bound to a different volume", {claimKey}),
  };
  if (volume) {
    const now = volume.claim ? gettext("bound to {claim}", {claim: volume.claim}) : gettext("not bound");
    return answer(
      "stuck",
      gettext("Lost: it was bound to {volumeName}, which is now {now}.", {volumeName, now}),
      waited,
      [recreate],
    );
  }
  const deletion = events.findLast(({changes}) => changes?.[volumeId] === null);
  const outcome = deletion
    ? gettext("was deleted at {at}", {at: timeText(deletion.at)})
    : gettext("is not in the cluster");
  const subject = volumeName ? gettext("its volume {volumeName}", {volumeName}) : gettext("its volume");
  const restore = {
    text: gettext("Create {volumeName} again without a claimRef: the claim is then bound to it again", {volumeName}),
  };
  return answer(
    "stuck",
    gettext("Lost: {subject} {outcome}.", {subject, outcome}),
    waited,
    volumeName ? [restore, recreate] : [recreate],
  );
}

/** ": a write was rejected 3.40 s ago", unless a later write succeeded. */
function lastRejection({events, claimId, volumeId, at}) {
  const last = events.findLast(
    ({kind, object, changes}) => (object === claimId || object === volumeId) && (changes || kind === "WriteRefused"),
  );
  return last?.kind === "WriteRefused" ? gettext(": a write was rejected {at} ago", {at: duration(at - last.at)}) : "";
}

/** ": " and why provisioning failed last, unless the claim's trouble says so already. */
function lastFailure({events, claimId, claim}) {
  if (claim?.trouble) return "";
  const failed = events.findLast(({kind, object}) => kind === "ProvisioningFailed" && object === claimId);
  return failed ? `: ${failed.message}` : "";
}

/** How long the claim has been in its state, as a figure. */
function elapsed({since, at, state}) {
  if (since === null) return null;
  const words = {half: "half-bound", lost: gettext("since it became Lost")}[state] ?? "waited";
  return {value: duration(at - since), words};
}

/** The capacity beside the request, as a figure: "20 Gi for a request of 10 Gi, 10 Gi more". */
function sizes({request}, volume) {
  if (!request || !volume?.capacity) return null;
  const more = volume.capacity - request;
  const rest =
    more > 0
      ? gettext(", {more} more", {more: bytes(more)})
      : more < 0
        ? gettext(", {more} less", {more: bytes(-more)})
        : "";
  return {
    value: bytes(volume.capacity),
    words: gettext("for a request of {request}{rest}", {request: bytes(request), rest}),
  };
}
