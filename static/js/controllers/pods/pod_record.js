import {computed, effect, signal} from "@preact/signals";

import {merged, operationsOf} from "../nodes/node_record.js";
import {ObjectEvents} from "../session/object_events.js";

const WAIT_MS = 120;
/** On a large cluster evidence is computed when it is asked for, which may take longer than anyone should wait. */
const EVIDENCE_MS = 1000;
/** @type {{key: any, attempts: any[], upTo: number}} */
const NOTHING = {key: null, upTo: 0, attempts: []};

/**
 * The recorded events and attempts of one pod, kept up to date.
 *
 * `events` are all events about it, oldest first, including those after the event shown.
 * `attempts` are those that had ended by then, newest first. `chosen` is the number of the selected attempt,
 * null for the newest, and `held` is {attempt, evidence} of the attempt shown, or null. `reading` is the
 * state of loading: {status: "none" | "loading" | "ready" | "failed", evidence, message}. `isOpen` turns true once
 * events, attempts and evidence were read, or could not be; it does not wait for evidence longer than EVIDENCE_MS.
 */
export class PodRecord {
  constructor({session, id, attempt}) {
    this.session = session;
    this.id = id;
    this.object = new ObjectEvents(session, () => id);
    this.events = this.object.events;
    /** The operations on the volumes of the pod's node, if it has claims. */
    this.operations = new ObjectEvents(session, () => this.#nodeId(), {queryOf: operationsOf});
    /** The events that its life follows from, oldest first. */
    this.lived = computed(() => merged(this.events.value, this.operations.events.value));
    this.chosen = signal(attempt);
    /** The attempts loaded for `key`: all that had ended by event `upTo`. */
    this.read = signal(NOTHING);
    this.problem = signal("");
    /** The newest evidence that was read. @type {import("@preact/signals").Signal<{attempt: any, evidence: any} | null>} */
    this.latest = signal(null);
    this.attempts = computed(() => this.#attempts());
    this.held = computed(() => this.#held());
    this.reading = computed(() => this.#reading());
    this.isOpen = signal(false);
    this.key = null;
  }

  follow() {
    this.object.start();
    this.operations.start();
    let timer = 0;
    effect(() => {
      if (this.session.isWaiting) return;
      const key = this.#key();
      if (this.key && isSame(this.key, key)) return;
      this.key = key;
      clearTimeout(timer);
      timer = setTimeout(() => this.#refresh(key), WAIT_MS);
    });
    effect(() => {
      this.#show(this.#wanted());
    });
    effect(() => this.#open());
  }

  /** Show the attempt of this number, or follow the newest with null. */
  choose(number) {
    this.chosen.value = number;
  }

  /** Load again after a failure. */
  retry() {
    this.problem.value = "";
    if (this.#isComplete()) this.#show(this.#wanted());
    else this.#refresh(this.key);
  }

  #nodeId() {
    const {node, claims} = this.session.model.entities.get(this.id) ?? {};
    return node && claims?.length > 0 ? `node/${node}` : null;
  }

  /** The pod and the event for which attempts are loaded. A changed entity is a new object. */
  #key() {
    const {entities, seq} = this.session.model;
    return {pod: entities.get(this.id), past: this.session.place.past ? seq : null};
  }

  /** Whether all attempts up to the place shown are known. */
  #isComplete() {
    const {key, upTo} = this.read.value;
    return key !== null && (isSame(key, this.#key()) || this.session.model.seq <= upTo);
  }

  /** Never shows evidence of another event; while the run plays, the old evidence stays until the new is loaded. */
  #attempts() {
    if (this.session.place.past && !this.#isComplete()) return [];
    const {seq} = this.session.model;
    return this.read.value.attempts.filter((attempt) => attempt.seq <= seq);
  }

  /** The attempt to be shown, or undefined. */
  #wanted() {
    const attempts = this.attempts.value;
    return attempts.find(({number}) => number === this.chosen.value) ?? attempts[0];
  }

  #held() {
    const [held, wanted] = [this.latest.value, this.#wanted()];
    if (!held || !wanted || held.attempt.seq > this.session.model.seq) return null;
    return held.attempt.id === wanted.id || !this.session.place.past ? held : null;
  }

  #reading() {
    const evidence = this.held.value?.evidence ?? null;
    const wanted = this.#wanted();
    const wasAttempted = wanted !== undefined || this.session.model.entities.get(this.id)?.attempts > 0;
    const isRead = this.#isComplete() && (!wanted || this.latest.value?.attempt.id === wanted.id);
    if (isRead) return {status: wasAttempted ? "ready" : "none", evidence};
    if (this.problem.value) return {status: "failed", evidence, message: this.problem.value};
    return {status: wasAttempted ? "loading" : "none", evidence};
  }

  #open() {
    if (this.isOpen.value) return;
    const open = () => {
      this.isOpen.value = true;
    };
    const isListed = this.object.isRead.value && this.read.value.key !== null;
    if (this.problem.value || (isListed && this.reading.value.status !== "loading")) open();
    else if (isListed) setTimeout(open, EVIDENCE_MS);
  }

  async #refresh(key) {
    try {
      const pod = this.id.slice("pod/".length);
      const upTo = key.past ?? this.session.model.seq;
      const {items: attempts} = await this.session.api.get("attempts/", {pod, seq: key.past});
      if (this.key === key) this.read.value = {key, upTo, attempts};
    } catch (error) {
      if (this.key === key) this.problem.value = error.message;
    }
  }

  async #show(attempt) {
    this.asked = attempt?.id;
    if (!attempt || this.latest.peek()?.attempt.id === attempt.id) return;
    try {
      const evidence = await this.session.api.get(`attempts/${attempt.id}/`);
      if (this.asked !== attempt.id) return;
      this.latest.value = {attempt, evidence};
      this.problem.value = "";
    } catch (error) {
      if (this.asked === attempt.id) this.problem.value = error.message;
    }
  }
}

function isSame(one, other) {
  return one.pod === other.pod && one.past === other.past;
}
