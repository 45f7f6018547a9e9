import {effect, signal} from "@preact/signals";

import {Asking} from "../../lib/asking.js";
import {nextParting} from "../../model/run/two_boards.js";
import {SECOND} from "../../model/shared/format.js";

const WAIT_MS = 60;
const BUSY_MS = 1500;
const FORK_MS = 120_000;

/**
 * The comparison of this run with another one, read again whenever the event shown changes, and
 * regularly while either of them plays.
 *
 * At the newest event they are compared at the newest moment both have reached, else at the moment shown.
 */
export class Comparison {
  constructor(session, other) {
    this.session = session;
    this.other = other;
    /** The answer of the server, null before the first. @type {import("@preact/signals").Signal<any>} */
    this.result = signal(null);
    /** @type {import("@preact/signals").Signal<any[]>} */
    this.rows = signal([]);
    /** Where the next events begin in both runs, null without more. @type {import("@preact/signals").Signal<[number, number] | null>} */
    this.next = signal(null);
    this.problem = signal("");
    /** The moment for which the answer is held. */
    this.key = "";
    this.asking = new Asking({
      wanted: () => this.#missing(),
      ask: (key) => this.#refresh(key),
      rest: () => 0,
      waitMs: WAIT_MS,
    });
  }

  start() {
    if (this.other === null) return;
    effect(() => {
      if (this.#missing() !== null) this.asking.start();
    });
  }

  /** Show the moment `t` of an address, in seconds; from then on the address names the event. */
  openAt(t) {
    const seconds = Number.parseFloat(t);
    if (!(seconds >= 0)) return;
    this.session.address.write({t: null});
    this.session.playhead.seek({at: Math.round(seconds * SECOND)});
  }

  /** Go to the first decision that differs, with its pod picked. */
  toFirst() {
    const {decision} = this.result.value ?? {};
    if (decision) this.#show(decision.object, decision.at);
  }

  /** Go to the next moment from which a pod has another node. */
  toNext() {
    const next = nextParting(this.result.value?.partings ?? [], this.session.model.at);
    if (next) this.#show(next.pod, next.at);
  }

  /** The keys of this page: one second back and forth, the first and the next difference. */
  connectKeys() {
    const by = (seconds) => this.session.playhead.seek({at: Math.max(0, this.session.model.at + seconds * SECOND)});
    const actions = {
      ArrowLeft: () => by(-1),
      ArrowRight: () => by(1),
      f: () => this.toFirst(),
      n: () => this.toNext(),
    };
    // Before the keys of all pages, which step by event.
    addEventListener("keydown", (event) => this.#press(event, actions), {capture: true});
  }

  #press(event, actions) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.result.value) return;
    if (event.target.closest("input, select, textarea, dialog, .scroll-x")) return;
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  #show(id, at) {
    if (id.startsWith("pod/")) this.session.select({pod: id});
    this.session.playhead.seek({at}, {isJump: true});
  }

  /** Show the next events, too. */
  async more() {
    if (!this.next.value) return;
    const [after, withAfter] = this.next.value;
    const {events} = await this.#read({after, with_after: withAfter});
    this.rows.value = [...this.rows.value, ...events.rows];
    this.next.value = events.next;
  }

  /** Replay scenario and commands of this run with another version of Kubernetes, and compare. */
  async withProfile(profile) {
    try {
      const fork = await this.session.api.post("fork/", {profile}, {longestMs: FORK_MS});
      this.session.address.open(this.session.href("compare", {with: fork.id}));
    } catch (error) {
      this.session.notices.show(error);
    }
  }

  /** The moment to compare at, unless the answer for it is held. */
  #missing() {
    const {run, model, playhead, isWaiting} = this.session;
    if (isWaiting) return null;
    const key = playhead.past.value ? `at ${model.at}` : `newest ${model.seq} ${run.value.status}`;
    return key === this.key ? null : key;
  }

  /** Compare anew; while one of the runs goes on, again soon. */
  async #refresh(key) {
    try {
      this.#take(await this.#read({}));
      this.problem.value = "";
    } catch (error) {
      this.problem.value = error.message;
    }
    this.key = key;
    const {a, b} = this.result.value ?? {};
    const moving = (run) => run && (run.status === "playing" || run.goal_at !== null);
    clearTimeout(this.timer);
    if (moving(a) || moving(b)) this.timer = setTimeout(() => this.#again(), BUSY_MS);
  }

  #again() {
    this.key = "";
    this.asking.start();
  }

  #read(more) {
    const {model, api} = this.session;
    const {past} = this.session.playhead;
    return api.get("compare/", {with: this.other, at: past.value ? model.at : null, ...more});
  }

  #take(result) {
    const before = this.result.value;
    this.result.value = result;
    // Pages that are already loaded stay: recorded events do not change.
    if (before?.shared === result.shared && this.rows.value.length > result.events.rows.length) return;
    this.rows.value = result.events.rows;
    this.next.value = result.events.next;
  }
}
