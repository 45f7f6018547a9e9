import {effect, signal} from "@preact/signals";

import {ObjectEvents} from "./object_events.js";

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
    this.told = new ObjectEvents(board, () => id);
    this.events = this.told.events;
    this.attempts = signal([]);
    this.chosen = signal(attempt);
    this.held = signal(null);
    /** What `attempts` were read for. */
    this.key = null;
  }

  follow() {
    this.told.start();
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
    try {
      const pod = this.id.slice("pod/".length);
      const attempts = await this.board.api.get("attempts/", {pod, seq: key.past});
      if (this.key === key) this.attempts.value = attempts;
    } catch (error) {
      if (this.key === key) this.board.notice.value = `The attempts of ${this.id} could not be read: ${error.message}`;
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
