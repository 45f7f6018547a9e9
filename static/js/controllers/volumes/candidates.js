import {effect, signal} from "@preact/signals";

import {pause} from "../../lib/pause.js";
import {questionOf} from "../../model/volumes/candidates.js";

const WAIT_MS = 150;
/** A playing run changes volumes all the time, and the server replays the run for each request. */
const REST_MS = 1000;

/**
 * How every volume matches the selected claim or, for a selected volume without a claim, how it matches
 * every claim. They are evaluated again when a claim, a volume or the event shown changes. `held` is
 * {of, status: "loading" | "ready" | "failed", answer, message}, null while nothing is selected.
 */
export class Candidates {
  constructor(session, chosen) {
    this.session = session;
    this.chosen = chosen;
    /** @type {import("@preact/signals").Signal<{of: string, status: string, answer?: any, message?: string} | null>} */
    this.held = signal(null);
    /** The newest question. @type {any} */
    this.asked = null;
    /** The question that is asked next. @type {any} */
    this.wanted = null;
    this.busy = false;
  }

  start() {
    effect(() => {
      const {model} = this.session;
      const question = questionOf(this.chosen.binding(), model.entities);
      if (!question) {
        this.asked = this.wanted = this.held.value = null;
        return;
      }
      if (!this.chosen.isOpen.value) {
        // Where a volume was chosen already is known only from the events.
        this.asked = this.wanted = null;
        this.#load(question.of, model.seq);
        return;
      }
      // A past choice does not change; a claim without one depends on every volume.
      const now = question.seq === null ? {model, version: model.claims.version} : {};
      const next = {...question, ...now, at: question.seq ?? model.seq};
      if (this.asked && isSame(this.asked, next)) return;
      this.asked = this.wanted = next;
      this.#load(next.of, next.at);
      this.#answer();
    });
  }

  /** What is shown of an object until there is an answer: an earlier one, but none of a later event. */
  #load(of, at) {
    const held = this.held.peek();
    if (!held || held.of !== of || held.answer?.seq > at) this.held.value = {of, status: "loading"};
  }

  /** Send one question after the other; of several new ones only the newest. */
  async #answer() {
    if (this.busy) return;
    this.busy = true;
    await pause(WAIT_MS);
    while (this.wanted) {
      const question = this.wanted;
      this.wanted = null;
      await this.#ask(question);
      if (this.wanted && this.wanted.of === question.of) await pause(REST_MS);
    }
    this.busy = false;
  }

  async #ask({of, path, node, at}) {
    const isWanted = () => this.asked?.of === of && at <= this.asked.at;
    try {
      const answer = await this.session.api.get(path, {seq: at, node});
      if (isWanted()) this.held.value = {of, status: "ready", answer};
    } catch (error) {
      if (isWanted()) this.held.value = {of, status: "failed", message: error.message};
    }
  }
}

function isSame(one, other) {
  const keys = ["of", "node", "seq", "model", "version"];
  return keys.every((key) => one[key] === other[key]);
}
