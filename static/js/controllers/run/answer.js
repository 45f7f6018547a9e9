import {computed, effect, signal} from "@preact/signals";

/**
 * The answer to the question of a run's scenario, once the run is finished and its end is shown.
 *
 * `words` is the answer, or "". `proof` is the event that proves it, as {seq, object}, or null before it is found.
 */
export class Answer {
  constructor(session) {
    this.words = computed(() => {
      const {status, answer} = session.run.value;
      const isAtEnd = status === "finished" && !session.playhead.past.value;
      return isAtEnd ? (answer ?? "") : "";
    });
    /** @type {import("@preact/signals").Signal<{seq: number, object: string} | null>} */
    this.proof = signal(null);
    this.isAsked = false;
    effect(() => {
      const {proof} = session.run.value;
      if (this.words.value && proof) this.#find(session.api, proof);
    });
  }

  async #find(api, {event, object, message}) {
    if (this.isAsked) return;
    this.isAsked = true;
    // Without it the answer stands alone.
    const query = {kind: event, object, text: message, order: "asc", limit: 1};
    const found = await api.get("events/", query).catch(() => null);
    const first = found?.items?.[0];
    if (first) this.proof.value = {seq: first.seq, object: first.object};
  }
}
