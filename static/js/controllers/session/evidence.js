import {effect, signal} from "@preact/signals";

import {evidenceAt, evidenceKey} from "../../model/pods/evidence.js";

const WAIT_MS = 120;

/**
 * The evidence of the selected pod's newest attempt, at the event shown.
 *
 * `held` is {id, key, status: "loading" | "ready" | "failed", evidence, message}, or null; see evidenceAt.
 */
export class NewestEvidence {
  constructor(session) {
    this.session = session;
    /** @type {import("@preact/signals").Signal<{id: string, key: string, status: string, evidence?: any, message?: string} | null>} */
    this.held = signal(null);
  }

  start() {
    effect(() => {
      const id = this.session.selected();
      const pod = id && this.session.model.entities.get(id);
      const key = evidenceKey(id, pod);
      if (key === (this.held.peek()?.key ?? "")) return;
      clearTimeout(this.timer);
      if (key === "") {
        this.held.value = null;
        return;
      }
      this.#hold({id, key, status: "loading"});
      this.timer = setTimeout(() => this.#load(id, key), WAIT_MS);
    });
  }

  /** The evidence of this pod to show: {status, evidence, message}. */
  of(id) {
    const {model} = this.session;
    const pod = id && model.entities.get(id);
    return evidenceAt(this.held.value, {id, pod, seq: model.seq, isPast: this.session.place.past});
  }

  /** Repeat a failed request. */
  retry() {
    if (!this.held.value) return;
    const {id, key} = this.held.value;
    this.#hold({id, key, status: "loading"});
    this.#load(id, key);
  }

  /** Known evidence of the same pod stays until newer evidence is loaded. */
  #hold(next) {
    const before = this.held.peek();
    this.held.value = {evidence: before && before.id === next.id ? before.evidence : null, ...next};
  }

  async #load(id, key) {
    const isWanted = () => this.held.peek()?.key === key;
    try {
      const {api, model} = this.session;
      const {items} = await api.get("attempts/", {pod: id.slice("pod/".length), seq: model.seq, limit: 1});
      const [newest] = items;
      const detail = newest ? await api.get(`attempts/${newest.id}/`) : null;
      if (isWanted()) this.#hold({id, key, status: "ready", evidence: newest ? {...newest, ...detail} : null});
    } catch (error) {
      if (isWanted()) this.#hold({id, key, status: "failed", message: error.message});
    }
  }
}
