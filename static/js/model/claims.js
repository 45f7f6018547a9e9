import {byName} from "./format.js";

/**
 * How far a claim has come. `holder` is the volume whose claimRef names the claim, or null; `mode`
 * is when its class binds.
 *
 *   lost          the volume it was bound to is gone
 *   half          one side of the binding is written, the other is not
 *   waiting       WaitForFirstConsumer, and no pod was given a node
 *   provisioning  a node is selected, its volume is yet to come
 *   pending       no volume fits yet
 *   bound         both sides agree
 */
export function claimState(claim, holder, mode) {
  if (claim.phase === "Lost") return "lost";
  if (claim.volume && holder === claim.volume && claim.phase === "Bound") return "bound";
  if (claim.volume || holder) return "half";
  if (claim.selected_node) return "provisioning";
  return mode === "WaitForFirstConsumer" ? "waiting" : "pending";
}

/** When a claim binds: Immediate or WaitForFirstConsumer, as its class says; "" when unknown. */
export function bindingMode(claim, entities) {
  return claim.binding_mode ?? entities.get(`class/${claim.class}`)?.binding_mode ?? "";
}

/** Mark, family and words of each state. */
export const CLAIM_LOOK = {
  lost: {mark: "lost", family: "stuck", text: "Lost"},
  half: {mark: "half", family: "promised", text: "half-bound"},
  waiting: {mark: "pending", family: "clock", text: "Pending"},
  provisioning: {mark: "pending", family: "clock", text: "Pending"},
  pending: {mark: "pending", family: "clock", text: "Pending"},
  bound: {mark: "vbound", family: "settled", text: "Bound"},
};

/**
 * The steps of a claim: provision → bind → use, each done, now or todo, with its evidence.
 * `users` are the pods that mount it, [id, pod].
 */
export function claimSteps(claim, holder, mode, users) {
  const state = claimState(claim, holder, mode);
  const volume = claim.volume ?? holder;
  return [
    provisionStep(claim, state, volume),
    bindStep(claim, state, volume, holder),
    useStep(users, state === "bound"),
  ];
}

/** The claims of a run and who is on either side of them, kept up to date from what changed. */
export class Claims {
  constructor() {
    this.clear();
  }

  clear() {
    this.ids = new Set();
    this.users = new Map();
    this.holders = new Map();
    this.order = null;
    this.version = 0;
  }

  updateClaim(id, before, after) {
    this.version += 1;
    if (after) this.ids.add(id);
    else this.ids.delete(id);
    if (!before || !after) this.order = null;
  }

  updateVolume(id, before, after) {
    this.version += 1;
    const name = id.slice("volume/".length);
    if (before?.claim) this.holders.get(before.claim)?.delete(name);
    if (!after?.claim) return;
    if (!this.holders.has(after.claim)) this.holders.set(after.claim, new Set());
    this.holders.get(after.claim).add(name);
  }

  updatePod(id, before, after) {
    const earlier = before?.claims ?? [];
    const later = after?.claims ?? [];
    if (earlier.length === 0 && later.length === 0) return;
    this.version += 1;
    const namespace = id.split("/")[1];
    for (const name of earlier) this.users.get(`claim/${namespace}/${name}`)?.delete(id);
    for (const name of later) {
      const claim = `claim/${namespace}/${name}`;
      if (!this.users.has(claim)) this.users.set(claim, new Set());
      this.users.get(claim).add(id);
    }
  }

  get size() {
    return this.ids.size;
  }

  /** The volume whose claimRef names this claim, or null; of several the one the claim names. */
  holder(claimId, claim) {
    const names = this.holders.get(claimId.slice("claim/".length));
    if (!names || names.size === 0) return null;
    return names.has(claim?.volume) ? claim.volume : [...names].sort(byName)[0];
  }

  /** See claimState. */
  state(claimId, claim, entities) {
    return claimState(claim, this.holder(claimId, claim), bindingMode(claim, entities));
  }

  /** Pods that mount a claim, [id, pod], in order of name. */
  usersOf(claimId, entities) {
    return [...(this.users.get(claimId) ?? [])]
      .sort(byName)
      .map((id) => [id, entities.get(id)])
      .filter(([, pod]) => pod);
  }

  /** Claims that still need something first, then those that are bound, each by name. */
  first(entities, limit) {
    this.order ??= [...this.ids].sort(byName);
    const open = [];
    const bound = [];
    for (const id of this.order) {
      const list = this.state(id, entities.get(id), entities) === "bound" ? bound : open;
      if (list.length < limit) list.push(id);
      if (open.length >= limit) break;
    }
    return [...open, ...bound].slice(0, limit);
  }
}

function provisionStep(claim, state, volume) {
  const step = (status, mark, family, what) => ({name: "Provision", status, mark, family, what});
  if (state === "lost") {
    return step("now", "lost", "stuck", `${claim.volume ?? "its volume"} is gone`);
  }
  if (volume) return step("done", "vbound", "settled", `${volume} fits`);
  if (state === "waiting") return step("now", "pending", "clock", "waits for its first consumer");
  if (state === "provisioning") {
    return step("now", "pending", "clock", `wanted on ${claim.selected_node}`);
  }
  return step("now", "pending", "clock", "no volume fits yet");
}

function bindStep(claim, state, volume, holder) {
  const step = (status, mark, family, what) => ({name: "Bind", status, mark, family, what});
  if (state === "bound") return step("done", "vbound", "settled", "both sides agree");
  if (!volume || state === "lost") return step("todo", "available", "held", "no volume to bind to");
  const half = (what) => step("now", "half", "promised", what);
  if (!claim.volume) return half(`${volume} names it, it does not name ${volume} yet`);
  if (holder !== volume) return half(`it names ${volume}, ${volume} does not name it yet`);
  return half("both names are written, its phase is not yet Bound");
}

function useStep(users, bound) {
  const step = (status, mark, family, what) => ({name: "Use", status, mark, family, what});
  if (users.length === 0) return step("todo", "available", "held", "no pod asks for it");
  const placed = users.find(([, pod]) => pod.node && pod.phase === "Running") ??
    users.find(([, pod]) => pod.node);
  const [id, pod] = placed ?? users[0];
  const name = id.split("/").pop();
  if (!bound) return step("todo", "available", "held", `${name} waits until both sides agree`);
  if (!placed && pod.assumed) return step("now", "assumed", "promised", `${name} is assumed on ${pod.assumed}`);
  if (!placed) return step("now", "available", "held", `${name} has no node yet`);
  if (pod.phase !== "Running") {
    return step("now", "in-flight", "working", `${name} starts on ${pod.node}`);
  }
  return step("done", "vbound", "settled", `${name} runs on ${pod.node}`);
}
