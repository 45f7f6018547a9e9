import {gettext, labelled, ngettext, sentences} from "../../lib/words.js";
import {volumeLook} from "../machines/machines.js";
import {nodeAnswer} from "../nodes/node_answer.js";
import {parseId} from "../shared/format.js";
import {holdWords, isTerminating, lookOf} from "../shared/terminating.js";
import {CLAIM_LOOK, bindingMode, isVolumeGone} from "../volumes/claims.js";
import {healthIs, openingOf} from "../health/health.js";
import {failureSentence, failureWords, troubleHealth} from "../health/operations.js";
import {podHealth} from "../health/pod.js";

/** How many pods of a workload are in a state. @type {Record<string, (alike: number, all: number) => string>} */
const WORDS = {
  stuck: (alike, all) => ngettext("{alike} of {count} pod stuck", "{alike} of {count} pods stuck", all, {alike}),
  failing: (alike, all) => ngettext("{alike} of {count} pod failing", "{alike} of {count} pods failing", all, {alike}),
  waiting: (alike, all) => ngettext("{alike} of {count} pod waiting", "{alike} of {count} pods waiting", all, {alike}),
  well: (alike, all) => ngettext("{alike} of {count} pod well", "{alike} of {count} pods well", all, {alike}),
};
const WORST = ["stuck", "failing", "waiting", "well"];

/** The one health of an object (see healthIs); `model` is the RunModel of the state that is shown. */
export function healthOf(id, model) {
  const object = model.entities.get(id);
  const {kind, name} = parseId(id);
  if (kind === "pod" || !object) return podHealth(id, kind === "pod" ? object : undefined, model);
  if (kind === "claim") return claimHealth(id, object, model);
  if (kind === "volume") return volumeHealth(id, object, model);
  if (kind === "node") return nodeHealth(name, object, model);
  if (kind === "resourceclaim") return resourceClaimHealth(id, object, model);
  return workloadHealth(id, model);
}

/** An answer about a claim or volume, led by what fails: an answer about its binding alone would call it well. */
export function ledByHealth(id, model, answer) {
  if (!model.entities.has(id)) return answer;
  const health = healthOf(id, model);
  const {state, family} = health;
  if (state !== "failing" || answer.family === "stuck") return answer;
  const words = openingOf(health).replace(/\.$/, "");
  return {...answer, family, sentence: sentences([gettext("{words}.", {words}), answer.sentence])};
}

function nodeHealth(name, node, {nodes, at}) {
  const {state, mark, family, words, sentence} = nodeAnswer(name, node, nodes.pods.get(name) ?? new Map(), at);
  return healthIs(state, "", [mark, family, words], sentence);
}

/** The health of a claim: that of its volume once it is bound. */
function claimHealth(id, claim, model) {
  const {claims, entities} = model;
  const key = claims.state(id, claim, entities);
  const [name, volume] = claims.volumeOf(id, claim, entities);
  if (isTerminating(claim)) return terminatingHealth(id, claim, model);
  if (key === "bound") return failingHealth(name, model) ?? troubleHealth(claim) ?? looked("well", CLAIM_LOOK.bound);
  if (key === "lost" || isVolumeGone(claim, volume)) return looked("stuck", CLAIM_LOOK.lost);
  if (key === "pending" && claim.class && !bindingMode(claim, entities) && !entities.has(`class/${claim.class}`))
    return looked(
      "stuck",
      {...CLAIM_LOOK.pending, family: "stuck"},
      gettext("class {class} does not exist", {class: claim.class}),
    );
  return troubleHealth(claim) ?? looked("waiting", CLAIM_LOOK[key]);
}

function volumeHealth(id, volume, model) {
  const {claims, entities} = model;
  if (isTerminating(volume)) return terminatingHealth(id, volume, model);
  const failing = failingHealth(parseId(id).name, model) ?? troubleHealth(volume);
  if (failing) return failing;
  const claimId = claims.claimOf(id, entities);
  const claim = entities.get(claimId);
  if (claim && claims.volumeOf(claimId, claim, entities)[1] === volume)
    if (claims.state(claimId, claim, entities) === "half") return looked("waiting", CLAIM_LOOK.half);
  const {mark, family, title} = volumeLook(volume);
  return looked(family === "stuck" ? "stuck" : "well", {mark, family, text: title});
}

/** The health of a ResourceClaim: that of the pod which it keeps waiting, or whose devices cannot be prepared. */
function resourceClaimHealth(id, claim, model) {
  if (isTerminating(claim)) return terminatingHealth(id, claim, model);
  const {namespace, name} = parseId(id);
  const prefix = `pod/${namespace}/`;
  const users = [...model.entities].filter(
    ([other, pod]) => other.startsWith(prefix) && pod.resource_claims?.includes(name),
  );
  if (claim.devices?.length > 0) {
    const failed = users.find(([, {trouble}]) => trouble?.name === "FailedPrepareDynamicResources");
    if (failed) return troubleHealth(failed[1]);
    return looked("well", {mark: "ok", family: "settled", text: gettext("allocated")});
  }
  const stuck = users.map(([other, pod]) => podHealth(other, pod, model)).find(({state}) => state === "stuck");
  const text = gettext("no device yet");
  if (stuck) return looked("stuck", {mark: "no", family: "stuck", text}, labelled(text, stuck.detail));
  return looked("waiting", {mark: "in-flight", family: "clock", text});
}

function looked(state, {mark, family, text}, detail = text) {
  return healthIs(state, "", [mark, family, text], detail);
}

function terminatingHealth(id, object, model) {
  return looked("stuck", lookOf(object, null), holdWords(id, model));
}

/** The health of a volume of which an operation fails on some node; null if none does. */
function failingHealth(name, {nodes}) {
  const trouble = nodes.troubles().get(name);
  if (!trouble) return null;
  return healthIs("failing", "", ["backoff", "stuck", failureWords(name, trouble)], failureSentence(name, trouble));
}

/** The health of a workload: that of its pods which are worst off, and how many are. */
function workloadHealth(id, model) {
  const {namespace, name} = parseId(id);
  const pods = [];
  for (const [other, pod] of model.entities)
    if (pod.owner === name && other.startsWith(`pod/${namespace}/`)) pods.push(podHealth(other, pod, model));
  const own = troubleHealth(model.entities.get(id));
  if (own && pods.every(({state}) => state !== "stuck")) return own;
  const worst = pods.sort((a, b) => WORST.indexOf(a.state) - WORST.indexOf(b.state))[0];
  if (!worst) return healthIs("well", "", ["expired", "held", gettext("no pods")]);
  const alike = pods.filter(({state}) => state === worst.state).length;
  const number = WORDS[worst.state](alike, pods.length);
  return healthIs(worst.state, "", [worst.mark, worst.family, number], labelled(number, worst.detail));
}
