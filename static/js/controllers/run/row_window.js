import {computed, effect, signal} from "@preact/signals";

/** What one types is asked for once there is a pause. */
const TYPING_MS = 120;
/** While a run plays, rows are asked for again after a rest of so many times what the answer took. */
const RESTS = 10;
const LEAST_REST_MS = 250;
const LONGEST_REST_MS = 2000;

/**
 * Some rows of a long list of the run, in the order that the server gives them: the ids of pods, nodes, claims and volumes.
 * What is drawn of them is in the model, which has the event shown; while a run plays, only the order is a little older.
 *
 * `wanted()` returns the query for the rows, {search, state, sort, order, from, count, around}, or null while none are
 * needed. `held` is the newest answer, {seq, first, found, total, counts, rows: [{id, state}]}, null before the first.
 */
export class RowWindow {
  constructor(session, kind, wanted) {
    this.session = session;
    this.kind = kind;
    this.wanted = wanted;
    /** @type {import("@preact/signals").Signal<any>} */
    this.held = signal(null);
    this.problem = signal("");
    /** Whether the rows held are not those wanted, or, unless the run plays, not in the order of the event shown. */
    this.isLate = computed(() => this.#isLate());
    /** The query and the event that were asked about last. */
    this.asked = {query: "", seq: -1};
    this.took = 0;
  }

  start() {
    effect(() => this.#follow());
  }

  retry() {
    this.#soon(0);
  }

  #isLate() {
    const held = this.held.value;
    if (held === null || held.query !== this.#query()) return true;
    return held.seq !== this.session.place.seq && !this.session.isMoving;
  }

  #query() {
    const wanted = this.wanted();
    return wanted === null ? "" : JSON.stringify(wanted);
  }

  #follow() {
    const {session} = this;
    const {seq, past} = session.place;
    // The event that a page is opened at is known before its state is there.
    if (session.isWaiting && !past) return;
    const [query, isMoving] = [this.#query(), session.isMoving];
    const {asked} = this;
    if (query === asked.query && seq === asked.seq) return;
    if (query === "") {
      this.#forget();
      return;
    }
    const isTyped = query !== asked.query && asked.query !== "";
    this.#soon(isTyped ? TYPING_MS : isMoving && query === asked.query ? this.#rest() : 0, isMoving && !isTyped);
  }

  #forget() {
    clearTimeout(this.timer);
    this.asking?.abort();
    this.asked = {query: "", seq: -1};
    this.held.value = null;
  }

  #rest() {
    return Math.min(LONGEST_REST_MS, Math.max(LEAST_REST_MS, RESTS * this.took));
  }

  /** `isPatient`: a question that is on its way, or about to be asked, is not given up for this one. */
  #soon(wait, isPatient = false) {
    if (isPatient && (this.timer || this.asking)) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.#ask();
    }, wait);
  }

  async #ask() {
    const wanted = this.wanted();
    if (wanted === null) return;
    this.asking?.abort();
    const asking = new AbortController();
    this.asking = asking;
    const [query, {seq}, began] = [JSON.stringify(wanted), this.session.place, performance.now()];
    this.asked = {query, seq};
    try {
      const answer = await this.#answer({...wanted, seq}, asking.signal);
      if (asking.signal.aborted) return;
      this.took = performance.now() - began;
      this.held.value = {...answer, query};
      this.problem.value = "";
    } catch (error) {
      if (asking.signal.aborted) return;
      this.problem.value = error.message;
    }
    this.asking = undefined;
    // What is shown may have changed meanwhile.
    this.#follow();
  }

  /** A long history is read in parts. */
  async #answer(query, aborting) {
    for (;;) {
      const answer = await this.session.api.get(`rows/${this.kind}/`, query, aborting);
      if (answer.read === answer.seq) return answer;
    }
  }
}
