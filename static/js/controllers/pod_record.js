import {effect, signal} from "@preact/signals";

import {newerEvents} from "./object_events.js";

const WAIT_MS = 120;

/**
 * What the server keeps of one pod: its events and its attempts, followed while the run goes on.
 *
 * `events` are all events about it, oldest first, also those after the place shown. `attempts` are
 * those that had ended there, newest first. `chosen` is the one someone picked, null to follow the
 * newest, and `held` is {attempt, evidence} of the one that is shown, or null.
 */
export class PodRecord {
  constructor({board, id, attempt}) {
    this.board = board;
    this.id = id;
    this.events = signal([]);
    this.attempts = signal([]);
    this.chosen = signal(attempt);
    this.held = signal(null);
    this.ready = signal(false);
    /** What `attempts` were read for. */
    this.key = null;
  }

  follow() {
    let timer = null;
    effect(() => {
      const {entities, seq} = this.board.model;
      const pod = entities.get(this.id);
      const past = this.board.past.value ? seq : null;
      // An entity that has changed is another object.
      if (this.key && this.key.pod === pod && this.key.past === past) return;
      const key = {pod, past};
      this.key = key;
      clearTimeout(timer);
      timer = setTimeout(() => this.#refresh(key), WAIT_MS);
    });
    effect(() => this.#show(this.#attempt()));
  }

  /** Show the attempt of this number, or follow the newest with null. */
  choose(number) {
    this.chosen.value = number;
  }

  /** The attempt to be shown, or undefined. */
  #attempt() {
    const attempts = this.attempts.value;
    return attempts.find(({number}) => number === this.chosen.value) ?? attempts[0];
  }

  async #refresh(key) {
    const {api} = this.board;
    try {
      const [events, attempts] = await Promise.all([
        newerEvents(api, this.id, this.events.value),
        api.get("attempts/", {pod: this.id.slice("pod/".length), seq: key.past}),
      ]);
      if (this.key !== key) return;
      if (events.length > 0) this.events.value = [...this.events.value, ...events];
      this.attempts.value = attempts;
      this.ready.value = true;
    } catch (error) {
      if (this.key === key) this.board.notice.value = `What happened to ${this.id} could not be read: ${error.message}`;
    }
  }

  async #show(attempt) {
    if (!attempt) {
      this.held.value = null;
      return;
    }
    if (this.held.peek()?.attempt.id === attempt.id) return;
    this.wanted = attempt.id;
    try {
      const evidence = await this.board.api.get(`attempts/${attempt.id}/`);
      if (this.wanted === attempt.id) this.held.value = {attempt, evidence};
    } catch (error) {
      if (this.wanted === attempt.id) this.board.notice.value = `The evidence of attempt ${attempt.number} could not be read: ${error.message}`;
    }
  }
}
