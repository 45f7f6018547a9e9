import {batch, computed, effect, signal} from "@preact/signals";

import {Asking} from "../../lib/asking.js";
import {nameOf, placeOf} from "../../model/inside/steps.js";

const WAIT_MS = 120;
/** The server plays the run again for each request, and a playing run changes all the time. */
const REST_MS = 2000;

/**
 * The inside of what looks after a claim, the volumes of a pod, or those of a node: its steps up to the newest
 * event, and the one that is shown.
 *
 * `about` is the id of the object, or null. `held` is {about, seq, status: "loading" | "ready" | "failed", answer,
 * message}; an answer stays until a newer one is there.
 */
export class Inside {
  constructor(session) {
    this.session = session;
    const {claim, pod, volume} = session.selection;
    this.node = signal(session.address.query("node"));
    this.named = signal(session.address.query("step"));
    this.about = computed(() => {
      if (this.node.value) return `node/${this.node.value}`;
      return claim.value ?? this.#claimOf(volume.value) ?? pod.value ?? this.#fallback();
    });
    /** @type {import("@preact/signals").Signal<{about: string, seq: number, status: string, answer?: any, message?: string} | null>} */
    this.held = signal(null);
    /** The newest event, for which the steps are asked. */
    this.head = computed(() => {
      void session.tick.value;
      return session.live.head.seq;
    });
    this.steps = computed(() => this.held.value?.answer?.steps ?? []);
    this.place = computed(() => {
      const {seq, past} = session.place;
      return placeOf(this.steps.value, this.named.value, past ? seq : null);
    });
    /** What matching said of each volume when the scheduler chose, by the id of the step. */
    this.candidates = signal(new Map());
    this.asking = new Asking({
      wanted: () => this.#missing(),
      ask: ({about, seq}) => this.#answer(about, seq),
      rest: () => REST_MS,
      waitMs: WAIT_MS,
    });
    /** @type {string | null} */
    this.kept = null;
  }

  start() {
    effect(() => {
      const [about, seq] = [this.about.value, this.head.value];
      if (about === null || seq === 0) return;
      if (this.held.peek()?.about !== about) this.held.value = {about, seq: 0, status: "loading"};
      this.asking.start();
    });
  }

  /** Show the step at *place* of the list; the play head goes to the event after which it ended. */
  go(place) {
    const step = this.steps.value[place];
    if (!step) return;
    this.named.value = step.id;
    this.session.address.write({step: step.id});
    this.session.playhead.show(step.seq);
  }

  /** Show the step that is so many further on. */
  move(by) {
    const last = this.steps.value.length - 1;
    this.go(Math.max(0, Math.min(last, this.place.value + by)));
  }

  /** Show the inside of another object. */
  turnTo(id) {
    const [kind] = id.split("/", 1);
    batch(() => {
      this.named.value = "";
      this.node.value = kind === "node" ? nameOf(id) : "";
      this.session.address.write({step: null, node: kind === "node" ? nameOf(id) : null});
      if (kind === "claim") this.session.select({claim: id, volume: null});
      if (kind === "pod") this.session.select({pod: id, claim: null, volume: null});
    });
  }

  retry() {
    const about = this.about.value;
    if (about === null) return;
    this.held.value = {about, seq: 0, status: "loading"};
    this.asking.start();
  }

  /** Read what matching says of every volume at a step at which the scheduler assumed one. */
  async readCandidates({id, seq, entity, says}) {
    if (this.candidates.peek().has(id)) return;
    this.candidates.value = new Map(this.candidates.peek()).set(id, null);
    const found = await this.session.api
      .get(`claims/${nameOf(entity)}/candidates/`, {seq, node: says.node})
      .catch(() => null);
    this.candidates.value = new Map(this.candidates.peek()).set(id, found);
  }

  #claimOf(volume) {
    return volume ? this.session.model.claims.claimOf(volume, this.session.model.entities) : null;
  }

  /** The claim that needs attention first, and the same from then on. */
  #fallback() {
    const {model} = this.session;
    this.kept ??= model.claims.first(model, 1)[0] ?? null;
    return this.kept;
  }

  /** What the steps are about and up to which event, unless they are held. */
  #missing() {
    const [about, seq, held] = [this.about.peek(), this.head.peek(), this.held.peek()];
    return about === null || (held !== null && held.about === about && held.seq === seq) ? null : {about, seq};
  }

  async #answer(about, seq) {
    const [kind] = about.split("/", 1);
    try {
      const answer = await this.session.api.get("inside/volumes/", {[kind]: nameOf(about), seq});
      if (this.about.peek() === about) this.held.value = {about, seq, status: "ready", answer};
    } catch (error) {
      const {answer} = this.held.peek() ?? {};
      if (this.about.peek() === about) this.held.value = {about, seq, status: "failed", answer, message: error.message};
    }
  }
}
