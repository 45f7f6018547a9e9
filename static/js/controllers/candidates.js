import {effect, signal} from "@preact/signals";

import {questionOf} from "../model/candidates.js";

const WAIT_MS = 150;
/** A run that goes on changes volumes all the time; the server replays for every question. */
const REST_MS = 1000;

/**
 * What the rules of matching say of every volume for the chosen claim, asked anew when the claim, a
 * volume or the place shown has changed. `held` is {claim, status: "loading" | "ready" | "failed", told,
 * message}, null while no claim is chosen.
 */
export class Candidates {
  constructor(board, chosen) {
    this.board = board;
    this.chosen = chosen;
    this.held = signal(null);
    this.asked = null;
    this.wanted = null;
    this.busy = false;
  }

  start() {
    effect(() => {
      const {model} = this.board;
      const question = questionOf(this.chosen.binding(), model.entities);
      if (!question) {
        this.asked = this.wanted = this.held.value = null;
        return;
      }
      // What was chosen in the past stays as it was; else every change counts.
      const now = question.seq === null ? {model, version: model.claims.version} : {};
      const next = {...question, ...now, at: question.seq ?? model.seq};
      if (this.asked && isSame(this.asked, next)) return;
      this.asked = this.wanted = next;
      if (this.held.peek()?.claim !== next.claim) this.held.value = {claim: next.claim, status: "loading"};
      this.#answer();
    });
  }

  /** Ask, one question after the other; of several that came meanwhile the newest. */
  async #answer() {
    if (this.busy) return;
    this.busy = true;
    await pause(WAIT_MS);
    while (this.wanted) {
      const question = this.wanted;
      this.wanted = null;
      await this.#ask(question);
      if (this.wanted && this.wanted.claim === question.claim) await pause(REST_MS);
    }
    this.busy = false;
  }

  async #ask({claim, node, at}) {
    const isWanted = () => this.asked?.claim === claim;
    try {
      const told = await this.board.api.get(`claims/${claim}/candidates/`, {seq: at, node});
      if (isWanted()) this.held.value = {claim, status: "ready", told};
    } catch (error) {
      if (isWanted()) this.held.value = {claim, status: "failed", message: error.message};
    }
  }
}

function isSame(one, other) {
  const keys = ["claim", "node", "seq", "model", "version"];
  return keys.every((key) => one[key] === other[key]);
}

function pause(ms) {
  return new Promise((resolve) => { setTimeout(resolve, ms); });
}
