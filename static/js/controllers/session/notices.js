import {batch, signal} from "@preact/signals";

/** The one notice of a page: the last error, and how to repeat the request if that is safe. */
export class Notices {
  constructor(message = "") {
    this.message = signal(message);
    /** For the notice with that message, or null. @type {import("@preact/signals").Signal<{message: string, retry: () => unknown} | null>} */
    this.again = signal(null);
  }

  clear() {
    this.message.value = "";
  }

  /** Show a sentence. */
  say(text) {
    this.message.value = text;
  }

  /**
   * Show an error. `retry` is offered only where the error says that repeating the request is safe.
   *
   * @param {Error & {again?: boolean}} error
   * @param {(() => unknown) | null} [retry]
   */
  show(error, retry = null) {
    batch(() => {
      this.message.value = error.message;
      this.again.value = error.again && retry ? {message: error.message, retry} : null;
    });
  }

  /**
   * Do `work` and show its error. Returns whether it succeeded.
   *
   * @param {() => unknown} work
   * @param {(() => unknown) | null} [retry]
   */
  async guard(work, retry = null) {
    try {
      await work();
      return true;
    } catch (error) {
      if (error.name !== "AbortError") this.show(error, retry);
      return false;
    }
  }
}
