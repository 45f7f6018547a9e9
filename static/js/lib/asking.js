import {pause} from "./pause.js";

/**
 * Asks the server one question after the other, until the answer that is held is the one that is wanted: what a page
 * wants to know changes with every event of a run that plays, and an answer may take longer than that.
 *
 * `wanted()` returns what is to be asked now, or null once its answer is held; `ask(it)` asks, and notes the answer or
 * the failure; `rest()` is how many milliseconds the next question waits. Questions of the first `waitMs` are one.
 */
export class Asking {
  constructor({wanted, ask, rest, waitMs}) {
    this.wanted = wanted;
    this.ask = ask;
    this.rest = rest;
    this.waitMs = waitMs;
    this.busy = false;
  }

  /** Ask unless a question is on its way; then that which is wanted comes next. */
  async start() {
    if (this.busy) return;
    this.busy = true;
    try {
      await pause(this.waitMs);
      for (let next = this.wanted(); next !== null; next = this.wanted()) {
        await this.ask(next);
        await pause(this.rest());
      }
    } finally {
      this.busy = false;
    }
  }
}
