import {signal} from "@preact/signals";

/**
 * Asks the server why a pod is pending and what would fix it, when someone wants to know.
 *
 * `held` is {id, status: "loading" | "ready" | "failed", diagnosis, message}, or null.
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
    this.held.value = {id, status: "loading"};
    try {
      const path = `pods/${id.slice("pod/".length)}/why/`;
      const diagnosis = await this.api.get(path, {seq}, asking.signal);
      if (this.asking === asking) this.held.value = {id, status: "ready", diagnosis};
    } catch (error) {
      if (this.asking === asking) this.held.value = {id, status: "failed", message: error.message};
    }
  }

  /** Forget the answer: the cluster is no longer what it was about. */
  forget() {
    this.asking?.abort();
    this.asking = null;
    this.held.value = null;
  }
}
