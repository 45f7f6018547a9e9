import {computed, effect, signal} from "@preact/signals";

import {bindingOf, mergedUpTo} from "../../model/volumes/binding.js";
import {bindingMode, userOf} from "../../model/volumes/claims.js";
import {ObjectEvents} from "../session/object_events.js";

/**
 * The selected claim or volume, the other side of its binding, a pod that uses it, and the events of
 * all three.
 *
 * By default what the run's scenario speaks of is selected, else an unfinished claim, else any claim or volume. `isOpen` is whether the events of all
 * three were read, once, or could not be: before that, nothing can be said of the binding.
 */
export class Chosen {
  constructor(session) {
    this.session = session;
    this.fallback = null;
    const {claim, volume} = session.selection;
    this.id = computed(() => claim.value ?? volume.value ?? this.#fallback());
    this.claim = new ObjectEvents(session, () => this.#claim());
    this.volume = new ObjectEvents(session, () => this.#volume());
    this.pod = new ObjectEvents(session, () => this.#pod());
    this.opened = signal(null);
    this.isOpen = computed(() => this.opened.value === this.id.value);
  }

  start() {
    const all = [this.claim, this.volume, this.pod];
    for (const object of all) object.start();
    effect(() => {
      if (all.every(({isRead}) => isRead.value)) this.opened.value = this.id.value;
    });
  }

  pick(id) {
    const isClaim = id.startsWith("claim/");
    this.session.select({claim: isClaim ? id : null, volume: isClaim ? null : id});
  }

  /** The binding at the event shown: see bindingOf. */
  binding() {
    const {model} = this.session;
    const {entities, claims, seq, at} = model;
    const claimId = this.claim.id.value;
    const volumeId = this.volume.id.value;
    const claim = claimId ? entities.get(claimId) : undefined;
    const volume = volumeId ? entities.get(volumeId) : undefined;
    return bindingOf({
      claimId,
      claim,
      volumeId,
      volume,
      at,
      model,
      holder: claim ? claims.holder(claimId, claim) : null,
      mode: claim ? bindingMode(claim, entities) : "",
      storageClass: entities.get(`class/${(claim ?? volume)?.class}`),
      users: claim ? claims.usersOf(claimId, entities) : [],
      events: mergedUpTo(seq, this.claim.events.value, this.volume.events.value, this.pod.events.value),
    });
  }

  /** Keeps the same claim until it is bound. */
  #fallback() {
    const spokenOf = this.session.spokenOf("claim", "volume");
    if (spokenOf) return spokenOf;
    const {claims, entities} = this.session.model;
    const claim = this.fallback?.startsWith("claim/") && entities.get(this.fallback);
    if (!claim || claims.state(this.fallback, claim, entities) === "bound") {
      this.fallback = claims.first(this.session.model, 1)[0] ?? claims.volumes()[0] ?? null;
    }
    return this.fallback;
  }

  #claim() {
    const id = this.id.value;
    if (!id?.startsWith("volume/")) return id;
    return this.session.model.claims.claimOf(id, this.session.model.entities);
  }

  #volume() {
    const id = this.id.value;
    if (!id?.startsWith("claim/")) return id;
    const {claims, entities} = this.session.model;
    const claim = entities.get(id);
    const name = claim?.volume ?? claims.holder(id, claim);
    return name ? `volume/${name}` : null;
  }

  #pod() {
    const {claims, entities} = this.session.model;
    const id = this.claim.id.value;
    return id === null ? null : userOf(claims.usersOf(id, entities))?.[0];
  }
}
