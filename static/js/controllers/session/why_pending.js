import {signal} from "@preact/signals";

/**
 * Asks the server, on demand, why a pod is pending and what would fix it.
 *
 * `held` is {id, status: "loading" | "ready" | "failed", diagnosis, message}, or null. During a
 * repeated question, and when it fails, `diagnosis` is still the previous answer.
 */
export class WhyPending {
  constructor(api) {
    this.api = api;
    this.held = signal(null);
  }

  /** Ask which changes would help the pod of this id, at event *seq* (null: the newest). */
  async ask(id, seq) {
    this.asking?.abort();
    const asking = new AbortController();
    this.asking = asking;
    const before = this.held.peek();
    const older = before?.id === id && before.diagnosis ? {diagnosis: before.diagnosis} : {};
    this.held.value = {...older, id, status: "loading"};
    try {
      const path = `pods/${id.slice("pod/".length)}/why/`;
      const answer = await this.api.get(path, {seq}, asking.signal);
      if (this.asking === asking) this.held.value = {id, status: "ready", diagnosis: answer};
    } catch (error) {
      if (this.asking === asking) this.held.value = {...older, id, status: "failed", message: error.message};
    }
  }

  /** Drop the answer after the cluster has changed. */
  forget() {
    this.asking?.abort();
    this.asking = null;
    this.held.value = null;
  }
}
