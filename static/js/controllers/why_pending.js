import {signal} from "@preact/signals";

/**
 * Asks the server why a pod is pending and what would fix it, when someone wants to know.
 *
 * `held` is {id, status: "loading" | "ready" | "failed", diagnosis, message}, or null. While it is asked
 * again, and when that fails, `diagnosis` is still the answer before.
 */
export class WhyPending {
  constructor(api) {
    this.api = api;
    this.held = signal(null);
  }

  /** Have changes tried for the pod of this id, at event *seq* (null: the newest). */
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

  /** Forget the answer: the cluster is no longer what it was about. */
  forget() {
    this.asking?.abort();
    this.asking = null;
    this.held.value = null;
  }
}
