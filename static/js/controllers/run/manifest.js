import {computed, effect, signal} from "@preact/signals";

const WAIT_MS = 120;

/**
 * The manifest of one object at the event shown. `reading` is {status: "loading" | "ready" | "missing" | "failed",
 * text, object, message}: `text` in YAML, or with *format* "json" the `object`.
 */
export class Manifest {
  constructor(session, id, format = "yaml") {
    this.session = session;
    this.id = id;
    this.format = format;
    /** @type {import("@preact/signals").Signal<{key: string | null, status: string, text?: string, object?: any, message?: string}>} */
    this.held = signal({key: null, status: "loading"});
    this.reading = computed(() => this.#reading());
  }

  start() {
    let timer = 0;
    effect(() => {
      if (this.session.isWaiting) return;
      const key = this.#key();
      if (key === this.key) return;
      this.key = key;
      clearTimeout(timer);
      timer = setTimeout(() => this.#read(key), WAIT_MS);
    });
  }

  retry() {
    this.held.value = {key: this.key, status: "loading"};
    this.#read(this.key);
  }

  /** Where the manifest of the event shown is, for a program. */
  url(format) {
    return this.session.api.url(`objects/${this.id}/`, {seq: this.#seq(), format});
  }

  #seq() {
    const {seq, past} = this.session.place;
    return past ? seq : null;
  }

  /** Changes with every event shown in the past, and at the newest with every event about the object. */
  #key() {
    const seq = this.#seq();
    if (seq !== null) return ["at", seq].join(" ");
    const {events, entities} = this.session.model.run;
    const newest = events.find(({object}) => object === this.id)?.seq ?? 0;
    return ["newest", newest, entities.has(this.id)].join(" ");
  }

  /** Never shows a manifest of another event; at the newest event the old version stays while the new one loads. */
  #reading() {
    const held = this.held.value;
    if (
      held.key === this.#key() ||
      (held.status === "ready" && !this.session.place.past && held.key?.startsWith("newest"))
    )
      return held;
    return {status: "loading"};
  }

  async #read(key) {
    try {
      const read = await this.#get({seq: this.#seq(), format: this.format});
      if (this.key === key) this.held.value = {key, status: "ready", ...read};
    } catch (error) {
      if (this.key !== key) return;
      this.held.value = {key, status: error.status === 404 ? "missing" : "failed", message: error.message};
    }
  }

  async #get(asked) {
    const {api} = this.session;
    const path = `objects/${this.id}/`;
    return this.format === "json" ? {object: await api.get(path, asked)} : {text: await api.text(path, asked)};
  }
}
