import {effect, signal} from "@preact/signals";

const WAIT_MS = 200;
const BUSY_MS = 1500;
const FORK_MS = 120_000;

/**
 * The run of the page beside another one, read again whenever the place shown changes, and now and
 * then while either of them plays.
 *
 * At the newest event they are compared at the newest moment both have reached, else at the moment shown.
 */
export class Comparison {
  constructor(session, other) {
    this.session = session;
    this.other = other;
    /** What the server told, or null before. */
    this.told = signal(null);
    this.rows = signal([]);
    this.next = signal(null);
    this.problem = signal("");
  }

  start() {
    if (this.other === null) return;
    let key = null;
    effect(() => {
      const {run, model} = this.session;
      const {past} = this.session.playhead;
      const place = past.value ? `at ${model.at}` : `newest ${model.seq} ${run.value.status}`;
      if (place === key || this.session.isWaiting) return;
      key = place;
      this.#soon(this.told.peek() === null ? 0 : WAIT_MS);
    });
  }

  /** Show the next events, too. */
  async more() {
    const [after, withAfter] = this.next.value;
    const {events} = await this.#read({after, with_after: withAfter});
    this.rows.value = [...this.rows.value, ...events.rows];
    this.next.value = events.next;
  }

  /** Have the scenario and the commands of this run played under another profile, and compare. */
  async withProfile(profile) {
    try {
      const fork = await this.session.api.post("fork/", {profile}, {longestMs: FORK_MS});
      this.session.address.open(this.session.href("compare", {with: fork.id}));
    } catch (error) {
      this.session.notices.show(error);
    }
  }

  #soon(wait) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#refresh(), wait);
  }

  async #refresh() {
    try {
      this.#take(await this.#read({}));
      this.problem.value = "";
    } catch (error) {
      this.problem.value = error.message;
    }
    const {a, b} = this.told.value ?? {};
    const moving = (run) => run && (run.status === "playing" || run.goal_at !== null);
    if (moving(a) || moving(b)) this.#soon(BUSY_MS);
  }

  #read(more) {
    const {model, api} = this.session;
    const {past} = this.session.playhead;
    return api.get("compare/", {with: this.other, at: past.value ? model.at : null, ...more});
  }

  #take(told) {
    const before = this.told.value;
    this.told.value = told;
    // Pages that somebody asked for stay: what has happened does not change.
    if (before?.shared === told.shared && this.rows.value.length > told.events.rows.length) return;
    this.rows.value = told.events.rows;
    this.next.value = told.events.next;
  }
}
