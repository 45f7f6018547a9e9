import {gettext} from "../../lib/words.js";
import {troubleHealth} from "../health/operations.js";
import {podHealth} from "../health/pod.js";
import {byName} from "../shared/format.js";
import {Ordered} from "../shared/ordered.js";
import {isTerminating, lookOf} from "../shared/terminating.js";

/**
 * The state of a claim. `holder` is the volume whose claimRef names the claim, or null; `mode` is the binding mode
 * of its class.
 *
 *   lost          its volume was deleted
 *   half          one side of the binding is written, the other is not
 *   waiting       WaitForFirstConsumer, and no node is selected
 *   provisioning  a node is selected, the volume is not provisioned yet
 *   pending       no volume fits yet
 *   bound         both sides are written
 */
export function claimState(claim, holder, mode) {
  if (claim.phase === "Lost") return "lost";
  if (claim.volume && holder === claim.volume && claim.phase === "Bound") return "bound";
  if (claim.volume || holder) return "half";
  if (claim.selected_node) return "provisioning";
  return mode === "WaitForFirstConsumer" ? "waiting" : "pending";
}

/** The binding mode of a claim's class: Immediate or WaitForFirstConsumer; "" if unknown. */
export function bindingMode(claim, entities) {
  return claim.binding_mode ?? entities.get(`class/${claim.class}`)?.binding_mode ?? "";
}

/** Mark, family and words of each state. */
export const CLAIM_LOOK = {
  lost: {mark: "lost", family: "stuck", text: "Lost"},
  half: {mark: "half", family: "promised", text: gettext("half-bound")},
  waiting: {mark: "pending", family: "clock", text: "Pending"},
  provisioning: {mark: "pending", family: "clock", text: "Pending"},
  pending: {mark: "pending", family: "clock", text: "Pending"},
  bound: {mark: "vbound", family: "settled", text: "Bound"},
};

/** The look of a claim in this state, or that of a terminating object. */
export function claimLook(claim, state) {
  return lookOf(claim, CLAIM_LOOK[state]);
}

/**
 * The steps of a claim: Provision → Bind → Use, as {name, status, mark, family, what}, the status done, now or
 * todo. `volume` is the volume that the claim names, else its holder, undefined while it does not exist; `users`
 * are the pods that mount the claim, [id, pod]; `model` is the state that is shown. The steps of a terminating claim look unfinished: none is in the
 * colour of what is settled.
 */
export function claimSteps(claim, {holder, mode, users, volume, model}) {
  const state = claimState(claim, holder, mode);
  const name = claim.volume ?? holder;
  const steps = [
    provisionStep(claim, state, name),
    bindStep(claim, state, {name, holder, volume}),
    useStep(users, {state, volume, model}),
  ];
  return isTerminating(claim) ? steps.map(unsettled) : steps;
}

/** Whether the volume of a bound claim was deleted; the claim may not be marked Lost yet. */
export function isVolumeGone(claim, volume) {
  return Boolean(claim?.completed && claim.volume) && !volume;
}

/** A step without the colour of what is settled. */
export function unsettled(step) {
  return step.family === "settled" ? {...step, family: "held"} : step;
}

/** Of the pods that mount a claim, [id, pod], one that runs, else one with a node, else the first. */
export function userOf(users) {
  return users.find(([, pod]) => pod.node && pod.phase === "Running") ?? users.find(([, pod]) => pod.node) ?? users[0];
}

/** The claims and volumes of a run, how they refer to each other, and which pods use them. */
export class Claims {
  /** The ids of all claims. @type {Ordered} */
  ids;
  /** The ids of all volumes. @type {Ordered} */
  volumeIds;
  /** The ids of claims that are not bound, or that something else is the matter with. @type {Ordered} */
  open;
  /** The claims as they are, by their ids. @type {Map<string, any>} */
  known;
  /** Id of a claim → ids of the pods that use it. @type {Map<string, Set<string>>} */
  users;
  /** Namespace and name of a claim → names of the volumes whose claimRef names it. @type {Map<string, Set<string>>} */
  holders;
  /** Name of a volume → ids of the claims that name it. @type {Map<string, Set<string>>} */
  namers;

  constructor() {
    /** Grows with every change of a claim, of a volume or class, or of a pod that has claims. */
    this.version = 0;
    /** The same without changes of pods. */
    this.bindings = 0;
    this.clear();
  }

  clear() {
    this.ids = new Ordered();
    this.volumeIds = new Ordered();
    this.open = new Ordered();
    this.known = new Map();
    this.users = new Map();
    this.holders = new Map();
    this.namers = new Map();
    this.#changed();
  }

  updateClaim(id, before, after) {
    this.#changed();
    if (after) {
      this.ids.add(id);
      this.known.set(id, after);
    } else {
      this.ids.delete(id);
      this.known.delete(id);
    }
    move(this.namers, before?.volume, after?.volume, id);
    this.#sort(id);
  }

  updateVolume(id, before, after) {
    this.#changed();
    if (after) this.volumeIds.add(id);
    else this.volumeIds.delete(id);
    const keys = [claimHeld(before), claimHeld(after)];
    move(this.holders, keys[0], keys[1], id.slice("volume/".length));
    for (const key of keys) if (key !== undefined) this.#sort(`claim/${key}`);
  }

  /** Note whether a claim is open. */
  #sort(id) {
    const claim = this.known.get(id);
    const isSettled =
      claim?.phase === "Bound" &&
      claim.volume &&
      this.holder(id, claim) === claim.volume &&
      !isTerminating(claim) &&
      !claim.trouble;
    if (claim && !isSettled) this.open.add(id);
    else this.open.delete(id);
  }

  updateClass() {
    this.#changed();
  }

  #changed() {
    this.version += 1;
    this.bindings += 1;
  }

  updatePod(id, before, after) {
    const earlier = before?.claims ?? [];
    const later = after?.claims ?? [];
    if (earlier.length === 0 && later.length === 0) return;
    this.version += 1;
    const namespace = id.split("/")[1];
    for (const name of earlier) move(this.users, `claim/${namespace}/${name}`, undefined, id);
    for (const name of later) move(this.users, undefined, `claim/${namespace}/${name}`, id);
  }

  get size() {
    return this.ids.size;
  }

  /** The volume whose claimRef names this claim, or null; of several, the one that the claim names. */
  holder(claimId, claim) {
    const names = this.holders.get(claimId.slice("claim/".length));
    if (!names || names.size === 0) return null;
    return names.has(claim?.volume) ? claim.volume : [...names].sort(byName)[0];
  }

  /** The claim of a volume: the one that its claimRef names, else one that names it, else null. */
  claimOf(volumeId, entities) {
    const key = entities.get(volumeId)?.claim;
    if (key) return `claim/${key}`;
    const namers = [...(this.namers.get(volumeId.slice("volume/".length)) ?? [])];
    return namers.sort(byName)[0] ?? null;
  }

  /** All volumes, in order of name. */
  volumes() {
    return this.volumeIds.list;
  }

  /** See claimState. */
  state(claimId, claim, entities) {
    return claimState(claim, this.holder(claimId, claim), bindingMode(claim, entities));
  }

  /** The steps of a claim in the state that is shown: see claimSteps. */
  steps(claimId, claim, model) {
    const {entities} = model;
    return claimSteps(claim, {
      holder: this.holder(claimId, claim),
      mode: bindingMode(claim, entities),
      users: this.usersOf(claimId, entities),
      volume: this.volumeOf(claimId, claim, entities)[1],
      model,
    });
  }

  /** [name, volume] of the volume that a claim names, else of its holder; the volume is undefined if there is none. */
  volumeOf(claimId, claim, entities) {
    const name = claim.volume ?? this.holder(claimId, claim);
    return [name, entities.get(`volume/${name}`)];
  }

  /** Pods that mount a claim, [id, pod], in order of name. */
  usersOf(claimId, entities) {
    return [...(this.users.get(claimId) ?? [])]
      .sort(byName)
      .map((id) => [id, entities.get(id)])
      .filter(([, pod]) => pod);
  }

  /** Unfinished claims and those with a volume that fails, then bound ones, each by name. */
  first({nodes}, limit) {
    const failing = [...nodes.troubles().keys()].flatMap((name) => [...(this.namers.get(name) ?? [])]);
    const first = new Set([...this.open.list.slice(0, limit), ...failing]);
    const open = [...first].sort(byName).slice(0, limit);
    if (open.length === limit) return open;
    const bound = [];
    for (const id of this.ids.list) {
      if (open.length + bound.length >= limit) break;
      if (!first.has(id)) bound.push(id);
    }
    return [...open, ...bound];
  }
}

/** The claim of a volume; a Released or Failed volume has none. */
function claimHeld(volume) {
  return volume && volume.phase !== "Released" && volume.phase !== "Failed" ? volume.claim : undefined;
}

/** Take *member* out of one of the sets by name and put it into another. */
function move(sets, from, to, member) {
  if (from === to) return;
  if (from !== undefined) {
    sets.get(from)?.delete(member);
    if (sets.get(from)?.size === 0) sets.delete(from);
  }
  if (to === undefined) return;
  if (!sets.has(to)) sets.set(to, new Set());
  sets.get(to).add(member);
}

function provisionStep(claim, state, volume) {
  const step = (status, mark, family, what) => ({name: gettext("Provision"), status, mark, family, what});
  if (state === "lost") {
    return step(
      "now",
      "lost",
      "stuck",
      claim.volume ? gettext("{name} was deleted", {name: claim.volume}) : gettext("its volume was deleted"),
    );
  }
  if (volume) return step("done", "vbound", "settled", gettext("{volume} exists", {volume}));
  const refused = troubleHealth(claim);
  if (refused) return step("now", refused.mark, refused.family, refused.words);
  if (state === "waiting") return step("now", "pending", "clock", gettext("waits for its first consumer"));
  if (state === "provisioning") {
    return step("now", "pending", "clock", gettext("provisioning for {node}", {node: claim.selected_node}));
  }
  return step("now", "pending", "clock", gettext("no volume fits yet"));
}

function bindStep(claim, state, {name, holder, volume}) {
  const step = (status, mark, family, what) => ({name: "Bind", status, mark, family, what});
  if (state === "bound") return step("done", "vbound", "settled", gettext("claim and volume refer to each other"));
  if (state === "lost") return step("now", "lost", "stuck", lostWords(name, volume));
  if (!name) return step("todo", "available", "held", gettext("no volume to bind to"));
  if (isVolumeGone(claim, volume)) return step("now", "lost", "stuck", gettext("{name} was deleted", {name}));
  const half = (what) => step("now", "half", "promised", what);
  if (!claim.volume) return half(gettext("{name} is reserved for it; its volumeName is not set yet", {name}));
  if (holder !== name) return half(gettext("its volumeName is {name}; the volume's claimRef is not set yet", {name}));
  return half(gettext("both references are set; its phase is not Bound yet"));
}

/** What became of the volume of a Lost claim. */
function lostWords(name, volume) {
  if (!volume) return gettext("the volume no longer exists");
  return volume.claim
    ? gettext("{name} is bound to {claim}", {name, claim: volume.claim})
    : gettext("{name} is not bound", {name});
}

function useStep(users, {state, volume, model}) {
  const step = (status, mark, family, what) => ({name: gettext("Use"), status, mark, family, what});
  if (users.length === 0) return step("todo", "available", "held", gettext("no pod uses it"));
  const [id, pod] = userOf(users);
  const name = id.split("/").pop();
  if (state === "lost" && !volume && !pod.node)
    return step("todo", "available", "held", gettext("{name} waits for a deleted volume", {name}));
  if (state !== "bound") return step("todo", "available", "held", gettext("{name} waits for the binding", {name}));
  const {state: health, mark, family, words} = podHealth(id, pod, model);
  if (health === "well" && pod.phase === "Running")
    return step("done", "vbound", "settled", gettext("{name} runs on {node}", {name, node: pod.node}));
  return step("now", mark, family, `${name} ${words}`);
}
