import {batch, signal} from "@preact/signals";

import {ObjectEvents} from "./object_events.js";

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
    const pod = new ObjectEvents(board, () => board.selected());
    const claim = new ObjectEvents(board, () => this.picked.claim.value ?? this.#claimOf(pod.id.value));
    const volume = new ObjectEvents(board, () => this.picked.volume.value ?? this.#volumeOf(claim.id.value));
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
