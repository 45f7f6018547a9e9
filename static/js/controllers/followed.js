import {batch, computed, effect, signal} from "@preact/signals";

import {newerEvents} from "./object_events.js";

const WAIT_MS = 120;

/**
 * The pod, the claim and the volume whose ways through the state machines are lit, and their events.
 *
 * Somebody may pick each. Else the pod is the one that most needs an answer, the claim is one of
 * the pod's, or of any that something is left to do for, and the volume is the claim's.
 */
export class Followed {
  constructor(board, address) {
    this.board = board;
    this.address = address;
    this.picked = {claim: signal(address.claim), volume: signal(address.volume)};
    const pod = new FollowedObject(board, () => board.selected());
    const claim = new FollowedObject(board, () => this.picked.claim.value ?? this.#claimOf(pod.id.value));
    const volume = new FollowedObject(board, () => this.picked.volume.value ?? this.#volumeOf(claim.id.value));
    /** By kind. */
    this.objects = {pod, claim, volume};
  }

  start() {
    for (const object of Object.values(this.objects)) object.start();
  }

  /** Follow this object, and what of the other kinds belongs to it. */
  pick(id) {
    const [kind] = id.split("/", 1);
    batch(() => {
      if (kind === "pod") this.board.pick(id);
      if (kind !== "volume") this.picked.claim.value = kind === "claim" ? id : null;
      this.picked.volume.value = kind === "volume" ? id : null;
    });
    this.address.writePicked(this.picked.claim.value, this.picked.volume.value);
  }

  #claimOf(pod) {
    const {entities, claims} = this.board.model;
    const name = entities.get(pod)?.claims?.[0];
    const mine = name && `claim/${pod.split("/")[1]}/${name}`;
    if (mine && entities.has(mine)) return mine;
    return claims.first(entities, 1)[0] ?? null;
  }

  #volumeOf(claim) {
    const {entities, claims} = this.board.model;
    const name = claim && (entities.get(claim)?.volume ?? claims.holder(claim, entities.get(claim)));
    return name ? `volume/${name}` : null;
  }
}

/** The events of one object, read again whenever it has changed; `idOf()` tells which it is. */
class FollowedObject {
  constructor(board, idOf) {
    this.board = board;
    this.id = computed(() => idOf() ?? null);
    /** All events about it, oldest first, also those after the place shown. */
    this.events = signal([]);
    /** Whose events these are, and the object as it was when they were read. */
    this.of = null;
    this.object = null;
  }

  start() {
    let timer = null;
    effect(() => {
      const id = this.id.value;
      // An entity that has changed is another object.
      const object = this.board.model.entities.get(id);
      if (this.of === id && this.object === object) return;
      if (this.of !== id) this.events.value = [];
      [this.of, this.object] = [id, object];
      clearTimeout(timer);
      if (id !== null) timer = setTimeout(() => this.#refresh(id), WAIT_MS);
    });
  }

  async #refresh(id) {
    try {
      const newer = await newerEvents(this.board.api, id, this.events.peek());
      if (this.of !== id) return;
      const latest = this.events.peek().at(-1)?.seq ?? 0;
      this.events.value = [...this.events.peek(), ...newer.filter(({seq}) => seq > latest)];
    } catch (error) {
      if (this.of === id) this.board.notice.value = `What happened to ${id} could not be read: ${error.message}`;
    }
  }
}
