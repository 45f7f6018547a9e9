import {signal} from "@preact/signals";

/**
 * Asks the server, on demand, why an object is as it is and what would fix it.
 *
 * `held` is {id, seq, status: "loading" | "ready" | "failed", diagnosis, message}, or null; `seq` is the event
 * that was asked about, null for the newest. During a repeated question, and when it fails, `diagnosis` is
 * still the previous answer.
 */
export class Why {
  constructor(api) {
    this.api = api;
    this.held = signal(null);
  }

  /** Ask about the object of this id, at event *seq* (null: the newest). */
  async ask(id, seq) {
    this.asking?.abort();
    const asking = new AbortController();
    this.asking = asking;
    const before = this.held.peek();
    // In the past only an answer for that very event may be shown.
    const older = before?.id === id && before.diagnosis && seq === null ? {diagnosis: before.diagnosis} : {};
    this.held.value = {...older, id, seq, status: "loading"};
    try {
      const answer = await this.api.get(`why/${pathOf(id)}/`, {seq}, asking.signal);
      if (this.asking === asking) this.held.value = {id, seq, status: "ready", diagnosis: answer};
    } catch (error) {
      if (this.asking === asking) this.held.value = {...older, id, seq, status: "failed", message: error.message};
    }
  }

  /** Drop the answer after the cluster or the question has changed. */
  forget() {
    this.asking?.abort();
    this.asking = null;
    this.held.value = null;
  }
}

function pathOf(id) {
  return id.split("/").map(encodeURIComponent).join("/");
}
