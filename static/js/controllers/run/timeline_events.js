import {computed, effect, signal} from "@preact/signals";

import {
  NO_FILTERS,
  filterChanges,
  filterQuery,
  filtersIn,
  knownAgain,
  shownRows,
} from "../../model/run/timeline_filters.js";
import {RowWindow} from "./row_window.js";

/** How many events one page of the table has. */
const PAGE = 200;
/** More suggestions are not read. */
const MOST_SUGGESTED = 20;
/** How many of the events after the one shown are listText, greyed. */
const LATER = 20;
const WAIT_MS = 120;
/** A playing run has new events all the time. */
const REST_MS = 1000;
const NOTHING = {rows: [], later: null, next: null};

/**
 * The events of a run up to the one shown, filtered by the server.
 *
 * `held` is one page of them, {rows, later, next}: `rows` in the requested order, `later` the events after the one shown if
 * the user wants them, and `next` the cursor of the next page, null if there is none. `cursors` are those of the pages
 * that were turned to. `status` is "loading", "ready" or "failed".
 */
export class TimelineEvents {
  constructor(session) {
    this.session = session;
    this.filters = signal(filtersIn(this.session.address.search));
    this.withLater = signal(false);
    /** What stands in the field of the object while the user types. */
    this.typed = signal("");
    /** @type {import("@preact/signals").Signal<{rows: any[], later: any[] | null, next: any}>} */
    this.held = signal(NOTHING);
    /** @type {import("@preact/signals").Signal<any[]>} */
    this.cursors = signal([]);
    /** The objects whose names have what is typed. */
    this.named = new RowWindow(session, "objects", () => this.#wantedNames());
    this.status = signal("loading");
    this.problem = signal("");
    this.key = null;
    this.asked = null;
    /** The seq up to which everything was read. */
    this.upTo = 0;
    this.shown = computed(() => shownRows(this.held.value, this.filters.value.order, this.session.model.seq));
  }

  /** Read events whenever `shown` says that the table is. */
  start(shown = {value: true}) {
    addEventListener("popstate", () => {
      this.filters.value = filtersIn(this.session.address.search);
    });
    effect(() => {
      const {session} = this;
      if (session.isWaiting || !shown.value) return;
      const {seq, past} = session.place;
      const key = JSON.stringify([this.filters.value, past ? seq : null, past && this.withLater.value]);
      if (key !== this.key) {
        const isOther = this.asked !== this.filters.value;
        [this.key, this.asked] = [key, this.filters.value];
        this.cursors.value = [];
        this.#soon(isOther ? 0 : WAIT_MS);
      } else if (!past && seq > this.upTo && this.#hasNewest()) this.#soon(REST_MS);
    });
    this.named.start();
  }

  /** Change some filters. */
  filter(filters) {
    this.filters.value = {...this.filters.value, ...filters};
    this.session.address.write(filterChanges(this.filters.value), {isJump: true});
  }

  /** Show the next page with 1, the previous one with -1. */
  turn(by) {
    const {next} = this.held.value;
    this.cursors.value = by > 0 ? [...this.cursors.value, next] : this.cursors.value.slice(0, -1);
    this.#soon(0);
  }

  /** The address of an export of the events shown. */
  exportUrl(format) {
    const {query} = this.#query();
    return this.session.api.url("events/export/", {...query, format});
  }

  /** The changes of an address that take all filters away. */
  noFilters() {
    this.filters.value = {...NO_FILTERS};
    return {...NO_FILTERS, order: null};
  }

  retry() {
    this.#refresh();
  }

  /** The request for the events shown: {query, order, problem}. */
  #query() {
    const {seq, past} = this.session.place;
    const {query, order, problem} = filterQuery(this.filters.value);
    return {query: {...query, before: past ? seq + 1 : null}, order, problem};
  }

  /** Whether new events belong to the page shown. */
  #hasNewest() {
    const isFirst = this.cursors.peek().length === 0;
    return this.filters.peek().order === "asc" ? this.held.peek().next === null : isFirst;
  }

  #wantedNames() {
    const search = this.typed.value.trim().replace(/\*$/, "");
    return search ? {search, count: MOST_SUGGESTED} : null;
  }

  #soon(wait) {
    if (this.timer && wait === REST_MS) return;
    clearTimeout(this.timer ?? undefined);
    this.timer = setTimeout(() => {
      this.timer = null;
      this.#refresh();
    }, wait);
  }

  async #refresh() {
    const {key} = this;
    const cursors = this.cursors.peek();
    const {query, order, problem} = this.#query();
    this.problem.value = problem;
    if (problem) {
      this.held.value = NOTHING;
      this.status.value = "failed";
      return;
    }
    this.status.value = "loading";
    const {seq, past} = this.session.place;
    await this.#guard(async () => {
      const cursor = cursors.at(-1) ?? {};
      const [answer, later] = await Promise.all([
        this.session.api.get("events/", {...query, ...cursor, limit: PAGE, order}),
        past && this.withLater.value
          ? this.session.api.get("events/", {...query, before: null, after: seq, limit: LATER, order: "asc"})
          : null,
      ]);
      if (this.key !== key || this.cursors.peek() !== cursors) return;
      this.upTo = past ? seq : answer.highest;
      const rows = knownAgain(this.held.peek().rows, answer.items);
      const next = answer.continue === null ? null : {continue: answer.continue};
      this.held.value = {rows, later: later?.items ?? null, next};
      this.status.value = "ready";
    });
  }

  async #guard(work) {
    const {key} = this;
    try {
      await work();
      this.problem.value = "";
    } catch (error) {
      if (this.key !== key) return;
      this.problem.value = error.message;
      this.status.value = "failed";
    }
  }
}
