import {computed, effect, signal} from "@preact/signals";

import {nextOf, rowsInSight} from "../../model/timeline/rows.js";
import {centred, fitted, moved, wholeOf, zoomed} from "../../model/timeline/window.js";
import {SECOND} from "../../model/shared/format.js";

const WAIT_MS = 60;
/** While a run plays, its newest part is asked for again so often. */
const REST_MS = 1000;
const LEAST_WAIT = 5 * SECOND;
/** So many causes back one looks for what a bar came from. */
const MOST_CAUSES = 5;
/** Open at first, when rows are components. */
const OPEN_COMPONENTS = ["component:attach-detach", "component:scheduler"];

/**
 * What the lanes of a timeline show: a window of time, the rows in sight, and the server's answer for both.
 *
 * `window` is null while it follows the whole run; `top`, `height` and `width` are those of the lanes in pixels.
 */
export class TimelineTrace {
  constructor(session, podPath) {
    this.session = session;
    this.podPath = podPath;
    const {address} = session;
    /** @type {import("@preact/signals").Signal<{start: number, end: number} | null>} */
    this.window = signal(null);
    this.by = signal(address.query("by") === "components" ? "components" : "objects");
    this.text = signal(address.query("q"));
    this.onlyEvents = signal(new URLSearchParams(address.search).has("kev"));
    this.onlySlow = signal(false);
    /** Keys of open rows. @type {import("@preact/signals").Signal<Set<string>>} */
    this.open = signal(new Set(["stages", ...OPEN_COMPONENTS]));
    this.place = signal({top: 0, height: 600, width: 800});
    /** The newest answer, null before the first. @type {import("@preact/signals").Signal<any>} */
    this.answer = signal(null);
    this.problem = signal("");
    this.end = computed(() => {
      void session.tick.value;
      return Math.max(this.answer.value?.head_at ?? 0, session.live.head?.at ?? 0, 1);
    });
    /** The window, whole when it follows. */
    this.shown = computed(() => this.window.value ?? wholeOf(this.end.value));
    this.fittedTo = "";
    this.key = "";
    /** How far the run was when it was asked about, "" in the past. */
    this.grown = "";
  }

  /** Ask for what is in sight, unless the events are shown as a table. */
  start(asTable) {
    effect(() => this.#fitOnce());
    effect(() => {
      const {session} = this;
      if (session.isWaiting || asTable.value) return;
      const key = JSON.stringify(this.#wanted());
      const {past} = session.place;
      const grows = past ? "" : String(session.model.seq);
      if (key === this.key && grows === this.grown) return;
      const wait = key === this.key ? REST_MS : WAIT_MS;
      [this.key, this.grown] = [key, grows];
      this.#soon(wait);
    });
  }

  /** Zoom around a moment, or around the middle. */
  zoom(factor, at = null) {
    const window = this.shown.value;
    this.window.value = zoomed(window, factor, at ?? (window.start + window.end) / 2, this.end.value);
  }

  /** Move by a part of the window. */
  move(part) {
    const window = this.shown.value;
    this.window.value = moved(window, part * (window.end - window.start), this.end.value);
  }

  /** Show another moment in the middle. */
  centre(at) {
    this.window.value = centred(this.shown.value, at, this.end.value);
  }

  /** Show the path of the chosen pod, or the whole run. */
  fit() {
    const path = this.#path();
    this.window.value = path ? fitted(path, this.end.value) : null;
  }

  /** Open or close a row. */
  turn(key) {
    const open = new Set(this.open.value);
    if (!open.delete(key)) open.add(key);
    this.open.value = open;
  }

  choose(id) {
    this.session.select({pod: id});
    this.place.value = {...this.place.value, top: 0};
  }

  find(text) {
    this.text.value = text;
    this.session.address.write({q: text.trim() || null});
  }

  lanesBy(by) {
    this.by.value = by;
    this.session.address.write({by: by === "components" ? by : null});
  }

  showOnlyEvents(isOn) {
    this.onlyEvents.value = isOn;
    this.session.address.write({kev: isOn ? "1" : null});
  }

  /** The rows in sight moved to `top`. */
  scrolled(top) {
    if (top !== this.place.value.top) this.place.value = {...this.place.value, top};
  }

  /** Show the next event of a row: the instant at which its next bar or mark begins. */
  toNext(row) {
    const at = nextOf(row, this.session.model.at);
    if (at === null) return;
    const {start, end} = this.shown.value;
    if (at < start || at > end) this.centre(at);
    this.seek(at);
  }

  /** Show the first step of a name in the middle. */
  showStep(name) {
    const step = this.#path()?.steps.find((each) => each.name === name);
    if (step) this.window.value = fitted(step, this.end.value);
  }

  /** What a bar came from: the nearest cause that is about another object, with the arrow from there; null for none. */
  async causeOf(row, bar) {
    try {
      let event = await this.#event(bar.seq);
      // Who was evicted is told for whose sake.
      if (event?.by) return arrowFrom({...event, object: event.by}, row, bar);
      for (let i = 0; i < MOST_CAUSES && event?.cause && event.object === row.key; i += 1) {
        event = await this.#event(event.cause);
      }
      if (!event || event.object === row.key) return null;
      return arrowFrom(event, row, bar);
    } catch {
      return null;
    }
  }

  async #event(seq) {
    const {items: events} = await this.session.api.get("events/", {after: seq - 1, limit: 1});
    return events[0];
  }

  /** Show the instant of a moment. */
  seek(at) {
    this.session.playhead.seek({at}, {isJump: true});
  }

  retry() {
    this.#soon(0);
  }

  #path() {
    const path = this.podPath.path.value;
    return path && path.pod === this.session.selection.pod.value && path.steps.length > 0 ? path : null;
  }

  /** A pod that is newly chosen is shown whole. */
  #fitOnce() {
    const pod = this.session.selection.pod.value;
    if (!pod) {
      this.fittedTo = "";
      return;
    }
    const path = this.#path();
    if (!path || this.fittedTo === pod) return;
    this.fittedTo = pod;
    this.window.value = fitted(path, Math.max(this.end.value, path.to));
  }

  /** The parameters of what is in sight. */
  #wanted() {
    const {top, height, width} = this.place.value;
    const {first, rows} = rowsInSight(top, height, Infinity);
    const {seq, past} = this.session.place;
    const window = this.window.value;
    return {
      from: window?.start,
      to: window?.end,
      width: Math.max(100, width),
      by: this.by.value,
      q: this.text.value.trim(),
      seq: past ? seq : null,
      pod: this.session.selection.pod.value?.replace("pod/", ""),
      open: [...this.open.value].join(","),
      wait: this.onlySlow.value ? LEAST_WAIT : null,
      kubernetes: this.onlyEvents.value ? 1 : null,
      first,
      rows,
    };
  }

  #soon(wait) {
    if (this.timer && wait === REST_MS) return;
    clearTimeout(this.timer ?? undefined);
    this.timer = setTimeout(() => this.#ask(), wait);
  }

  async #ask() {
    this.timer = null;
    this.asking?.abort();
    const asking = new AbortController();
    this.asking = asking;
    const wanted = this.#wanted();
    try {
      const answer = await this.session.api.get("timeline/", wanted, asking.signal);
      if (asking.signal.aborted) return;
      this.answer.value = {...answer, of: wanted};
      this.problem.value = "";
      // A long history is read in parts.
      if (answer.read < answer.head) this.#soon(0);
    } catch (error) {
      if (!asking.signal.aborted) this.problem.value = error.message;
    }
  }
}

/** The arrow from what an event is about to a bar, with the event. */
function arrowFrom(event, row, bar) {
  return {...event, word: "", from_row: event.object, from_at: event.at, to_row: row.key, to_at: bar.start};
}
