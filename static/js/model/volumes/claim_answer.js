import {blockerWords} from "../health/pod.js";
import {bytes, duration, moment, parseId} from "../shared/format.js";
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
export function claimAnswer(binding, nearest = null, called = "this claim") {
  const {state, claim, claimKey, volume, volumeName} = binding;
  if (!claim) return answer("held", `Claim ${claimKey} is not in the cluster at this moment.`);
  if (isTerminating(claim)) {
    const rest = state === "bound" ? ` It is still bound to ${volumeName}.` : "";
    return answer("stuck", `${terminatingWords(claim, binding)}${rest}`);
  }
  if (state === "bound")
    return answer("settled", `Bound to ${volumeName}: claim and volume refer to each other.`, sizes(claim, volume));
  if (state === "lost") return lostAnswer(binding);
  if (state === "half") return halfAnswer(binding, called);
  if (state === "provisioning") return provisioningAnswer(binding);
  if (state === "waiting") return waitingAnswer(binding);
  return pendingAnswer(binding, nearest);
}

function provisioningAnswer(binding) {
  const {claim, storageClass} = binding;
  const provisioner = storageClass?.provisioner ?? "its provisioner";
  const request = `provision ${bytes(claim.request ?? 0)} for ${claim.selected_node}`;
  return answer("clock", `Waiting for ${provisioner} to ${request}${lastFailure(binding)}.`, elapsed(binding));
}

/** A claim of a class with WaitForFirstConsumer. */
function waitingAnswer(binding) {
  const {claim, users} = binding;
  const user = userOf(users);
  if (!user) {
    const rule = `class ${claim.class} binds a claim when a pod that uses it is scheduled`;
    return answer("clock", `Waiting for its first consumer: ${rule}, and no pod uses this claim.`, elapsed(binding));
  }
  const [id, pod] = user;
  const reason = blockerWords(pod) ? `: ${blockerWords(pod)}` : "";
  return answer("clock", `Waiting for pod ${parseId(id).name} to be scheduled${reason}.`, elapsed(binding));
}

function pendingAnswer(binding, nearest) {
  const {claim, storageClass, mode} = binding;
  const waited = elapsed(binding);
  if (!claim.class) return answer("clock", "The claim has no class, and no volume without a class fits.", waited);
  if (!storageClass && !mode) {
    const reason = `none is provisioned because class ${claim.class} does not exist`;
    return answer("stuck", `No volume fits, and ${reason}.`, waited);
  }
  const closest = nearest ? `; the closest is ${nearest.volume}: ${nearest.text}` : "";
  return answer("clock", `No volume fits${closest || lastFailure(binding)}.`, waited);
}

function halfAnswer(binding, called) {
  const {claim, volume, volumeName, holder} = binding;
  if (hasLostVolume(binding))
    return answer("stuck", `Its volume ${volumeName} was deleted; the claim is not marked Lost yet.`);
  const waited = elapsed(binding);
  if (!volume)
    return answer("promised", `The claim's volumeName is ${volumeName}, but that volume does not exist.`, waited);
  if (claim.volume && holder !== claim.volume) {
    const obstacle = volume.claim
      ? `that volume is reserved for ${volume.claim}`
      : "the volume's claimRef is not set yet";
    const sentence = `The claim's volumeName is ${volumeName}, but ${obstacle}${lastRejection(binding)}.`;
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
    const missing = `the claim's volumeName is not set yet${lastRejection(binding)}`;
    return answer("promised", `${volumeName} is reserved for ${called}, but ${missing}.`, waited);
  }
  const figure = {
    value: bytes(request - capacity),
    words: `too small: ${bytes(capacity)} for a request of ${bytes(request)}`,
  };
  const fix = {
    text: `Increase ${volumeName} to ${bytes(request)}`,
    object: volumeId,
    patch: {spec: {capacity: {storage: String(request)}}},
  };
  return answer("promised", `${volumeName} is reserved for ${called}, but is too small for it.`, figure, [fix]);
}

/** Both name each other, and one of them is not Bound. */
function unfinishedAnswer(binding, waited) {
  const {claim, claimKey, volume, volumeName} = binding;
  const missing =
    volume.phase === "Bound"
      ? `the claim's phase is still ${claim.phase}`
      : `the phase of ${volumeName} is still ${volume.phase}`;
  const sentence = `${claimKey} and ${volumeName} refer to each other, but ${missing}${lastRejection(binding)}.`;
  return answer("promised", sentence, waited);
}

function lostAnswer(binding) {
  const {volume, volumeId, volumeName, claimKey, events} = binding;
  const waited = elapsed(binding);
  const recreate = {text: `Delete and recreate ${claimKey}: a Lost claim is never bound to a different volume`};
  if (volume) {
    const now = volume.claim ? `bound to ${volume.claim}` : "not bound";
    return answer("stuck", `Lost: it was bound to ${volumeName}, which is now ${now}.`, waited, [recreate]);
  }
  const deletion = events.findLast(({changes}) => changes?.[volumeId] === null);
  const outcome = deletion ? `was deleted at ${moment(deletion.at)} s` : "is not in the cluster";
  const subject = volumeName ? `its volume ${volumeName}` : "its volume";
  const restore = {text: `Create ${volumeName} again without a claimRef: the claim is then bound to it again`};
  return answer("stuck", `Lost: ${subject} ${outcome}.`, waited, volumeName ? [restore, recreate] : [recreate]);
}

/** ": a write was rejected 3.40 s ago", unless a later write succeeded. */
function lastRejection({events, claimId, volumeId, at}) {
  const last = events.findLast(
    ({kind, object, changes}) => (object === claimId || object === volumeId) && (changes || kind === "WriteRefused"),
  );
  return last?.kind === "WriteRefused" ? `: a write was rejected ${duration(at - last.at)} ago` : "";
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
  const words = {half: "half-bound", lost: "since it became Lost"}[state] ?? "waited";
  return {value: duration(at - since), words};
}

/** The capacity beside the request, as a figure: "20 Gi for a request of 10 Gi, 10 Gi more". */
function sizes({request}, volume) {
  if (!request || !volume?.capacity) return null;
  const more = volume.capacity - request;
  const rest = more > 0 ? `, ${bytes(more)} more` : more < 0 ? `, ${bytes(-more)} less` : "";
  return {value: bytes(volume.capacity), words: `for a request of ${bytes(request)}${rest}`};
}
