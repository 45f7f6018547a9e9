import {effect, signal} from "@preact/signals";

/** While a run plays, a pod that still waits is asked about again so often. */
const REST_MS = 1000;

/** The critical path of the selected pod at the event shown. */
export class PodPath {
  constructor(session) {
    this.session = session;
    /** The newest answer, null while there is none. @type {import("@preact/signals").Signal<any>} */
    this.path = signal(null);
    /** What came of its changes in forks, null while that is not known. @type {import("@preact/signals").Signal<any[] | null>} */
    this.trials = signal(null);
    /** The pod whose changes were asked about. */
    this.asked = "";
    /** What the server said instead of an answer. */
    this.problem = signal("");
    this.key = "";
    /** @type {ReturnType<typeof setTimeout> | null} */
    this.timer = null;
  }

  start() {
    effect(() => {
      const {session} = this;
      const id = session.selection.pod.value;
      const {seq, past} = session.place;
      if (session.isWaiting) return;
      const key = `${id} ${seq}`;
      if (key === this.key) return;
      const isOther = this.path.value?.pod !== id;
      this.key = key;
      if (isOther) [this.path.value, this.trials.value, this.asked] = [null, null, ""];
      if (!isOther && !past && this.timer) return;
      clearTimeout(this.timer ?? undefined);
      this.timer = setTimeout(() => this.#ask(), isOther || past ? 0 : REST_MS);
    });
  }

  async #ask() {
    this.timer = null;
    const {session, key} = this;
    const id = session.selection.pod.value;
    if (!id) return;
    const {seq, past} = session.place;
    try {
      const address = id.split("/").map(encodeURIComponent).slice(1).join("/");
      const path = await session.api.get(`pods/${address}/path/`, past ? {seq} : {});
      if (session.selection.pod.value !== id) return;
      this.path.value = path;
      this.problem.value = "";
      // Forks take a while, and say the same of a path that has ended.
      if (!path.open && this.asked !== id) void this.#try(id, `pods/${address}/path/trials/`, path);
    } catch (error) {
      if (this.key !== key) return;
      this.path.value = null;
      this.problem.value = error.message;
    }
  }

  /** Ask what its changes come to in forks; without an answer the limits stand. */
  async #try(id, address, {seq, shorter}) {
    this.asked = id;
    if (!shorter?.some(({commands}) => commands.length > 0)) return;
    const answer = await this.session.api.get(address, {seq}).catch(() => null);
    if (answer && this.session.selection.pod.value === id) this.trials.value = answer.tried;
  }
}
