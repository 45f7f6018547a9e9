import {batch, signal} from "@preact/signals";

import {RunApi} from "../lib/api.js";
import {BoardModel} from "../model/board_model.js";
import {consentFor} from "../model/consent.js";
import {isPending} from "../model/diagnosis.js";
import {SELECTED, changedSearch, hrefInRun, pageHref} from "../model/place.js";
import {GapError} from "../model/run_state.js";
import {Histogram} from "../model/timeline.js";
import {NewestEvidence} from "./evidence.js";
import {fillCounters} from "./fill_counters.js";
import {PastCursor} from "./past_cursor.js";
import {RunStream} from "./run_stream.js";
import {WhyPending} from "./why_pending.js";

const HISTOGRAM_MS = 1500;
const SCRUB_MS = 60;
const SETTLE_MS = 600;
const SPEED = {1: 1, 10: 10, 100: 100, max: Infinity};
const REPLAYED_PER_FRAME = 400;
const MOST_SEARCHED = 2000;
const LONGEST_NAME = 200;
const FORK_MS = 120_000;
/** Commands that come to the same when they arrive twice. */
const REPEATABLE = ["cordon", "uncordon", "patch", "apply", "start_kubelet", "stop_kubelet"];
/** Shown of the run until the state is there: nothing. */
const UNREAD = new BoardModel();

/**
 * One open board: what is shown, what the person asked for, and the run behind it.
 *
 * `live` follows the newest event for as long as the page is open; while someone looks at the past,
 * `past` holds the place they look at and `live` goes on unseen. A page that was opened at an event shows
 * nothing of the run before it has the state there: `opening` is {seq, problem} until then.
 */
export class Board {
  constructor({run, api, address}) {
    this.api = api;
    this.address = address;
    this.live = new BoardModel();
    this.histogram = new Histogram();
    this.queue = [];

    this.run = signal(run);
    this.past = signal(null);
    this.opening = signal(address.seq === null ? null : {seq: address.seq, problem: ""});
    /** Grows whenever what is shown changed. */
    this.tick = signal(0);
    this.ready = signal(false);
    this.connection = signal("connecting");
    /** The ids that somebody has picked, each null while nobody has. */
    this.selection = Object.fromEntries(SELECTED.map((kind) => [kind, signal(address[kind] ?? null)]));
    this.picked = this.selection.pod;
    this.evidence = new NewestEvidence(this);
    this.why = new WhyPending(api);
    this.replaying = signal(false);
    this.notice = signal(address.problem ?? "");
    /** What may be tried again, as {message, retry}, for the notice with that message; or null. */
    this.again = signal(null);
    /** The question asked before a command is sent, with `answer`, which takes yes or no; or null. */
    this.asking = signal(null);
    /** The seq or moment someone is dragging towards, before it is loaded. */
    this.aim = signal(null);

    /** Told which pods moved, just before they are drawn in their new places. */
    this.beforeDraw = () => {};
    this.fallback = null;
    this.scheduled = false;
    /** The seek under way, as a promise of whether it got there. */
    this.arriving = null;
    /** Settles with the newest step. */
    this.walked = null;
    this.stream = new RunStream({
      runId: run.id,
      after: () => (this.ready.value ? this.live.seq : null),
      onMessage: (message) => this.#receive(message),
      onState: (state) => {
        this.connection.value = state;
      },
    });
  }

  /** The model that is shown. A view that reads it is drawn again whenever what is shown changes. */
  get model() {
    void this.tick.value;
    if (this.past.value) return this.past.value.model;
    return this.isWaiting ? UNREAD : this.live;
  }

  /** Whether the state that is to be shown is not there yet. */
  get isWaiting() {
    return !this.past.value && (this.opening.value !== null || !this.ready.value);
  }

  /** Which event is shown, and whether that is the past. */
  get place() {
    const opening = this.opening.value;
    if (!this.past.value && opening) return {seq: opening.seq, past: true};
    return {seq: this.model.seq, past: this.past.value !== null};
  }

  /**
   * The address of a page of this run, at the event shown and with the same selection; `more` goes
   * before these. Other than at the newest event, what is selected without having been picked is kept, too.
   */
  href(page, more = {}) {
    const {seq, past} = this.place;
    return pageHref(this.run.value.id, page, {...this.#kept(), seq: past ? seq : null, ...more});
  }

  /** The address of this page at another event. */
  hrefAt(seq) {
    return changedSearch(location.search, {seq});
  }

  /** The address of this page of another run, at its newest event and with the same selection. */
  hrefInRun(run) {
    return hrefInRun(run, location, this.address.own ? {} : this.#kept());
  }

  #kept() {
    const kept = Object.fromEntries(SELECTED.map((kind) => [kind, this.selection[kind].value]));
    if (this.place.past && !this.isWaiting) kept.pod ??= this.selected();
    return kept;
  }

  /** Seq and moment of the newest event, as far as is known. */
  get head() {
    const run = this.run.value;
    if (this.live.seq >= (run.head ?? 0)) return {seq: this.live.seq, at: this.live.at};
    return {seq: run.head, at: Math.max(run.head_at ?? 0, this.live.at)};
  }

  async start() {
    this.#loadHistogram();
    // The newest state is not to stand in the way of the one that was asked for.
    if (this.opening.value) await this.open();
    this.#follow();
  }

  /** Show the event that the page was opened at; where that fails, `opening` says why. */
  async open() {
    const {seq} = this.opening.value;
    this.opening.value = {seq, problem: ""};
    const arriving = this.#arrive(new PastCursor(this.api), seq);
    this.arriving = arriving;
    await arriving;
    if (this.arriving === arriving) this.arriving = null;
  }

  /** Go where the address says, as after the browser's back button. */
  revisit() {
    const place = this.address.read();
    batch(() => {
      for (const kind of SELECTED) this.selection[kind].value = place[kind];
    });
    if (place.seq === null) this.jumpToNewest();
    else if (place.seq !== this.place.seq || !this.past.value) this.seek({seq: place.seq});
  }

  // What a person can do ---------------------------------------------------------------------------

  pick(id) {
    this.select({pod: id});
  }

  /** Select these ids, by kind; null lets go of one. */
  select(ids) {
    batch(() => {
      for (const [kind, id] of Object.entries(ids)) this.selection[kind].value = id;
    });
    this.address.write(ids);
  }

  /** The pod the inspector shows: the picked one, else the one that most needs an answer. */
  selected() {
    const {entities, lanes} = this.model;
    if (this.picked.value) return this.picked.value;
    if (!entities.get(this.fallback)?.queue) {
      const stuck = lanes.first("unschedulable")[0]?.[0];
      this.fallback = stuck ?? (entities.has(this.fallback) ? this.fallback : mostAttempted(entities));
    }
    return this.fallback;
  }

  async togglePlay() {
    if (this.arriving && !(await this.arriving)) return;
    if (this.past.value) {
      if (this.replaying.value) this.replaying.value = false;
      else this.#replay();
      return;
    }
    const playing = this.run.value.status === "playing";
    await this.#transport({action: playing ? "pause" : "play"});
  }

  async speed(speed) {
    this.run.value = {...this.run.value, speed};
    await this.#transport({action: "speed", speed});
  }

  /** One event on: recorded ones first, then the engine is asked for a new one. */
  stepEvent() {
    return this.#step("event", (cursor) => cursor.forward());
  }

  stepCycle() {
    return this.#step("cycle", async (cursor) => {
      const cycle = () => cursor.model.entities.get("queue")?.cycle;
      const before = cycle();
      for (let event = await cursor.forward(); event; event = await cursor.forward()) {
        if (cycle() !== before || cursor.model.seq >= this.live.seq) break;
      }
    });
  }

  stepBack() {
    return this.#inOrder(async () => {
      const from = this.model.seq;
      if (from <= 0) return;
      const cursor = this.past.value ?? new PastCursor(this.api);
      await cursor.back(from);
      this.#showPast(cursor);
    });
  }

  /**
   * Look at {seq} or {at}; at or after the newest event this is looking at the head. After a jump the
   * browser's back button leads back.
   */
  seek(place, {isJump = false} = {}) {
    this.replaying.value = false;
    const beyond = place.seq !== undefined ? place.seq >= this.head.seq : place.at >= this.head.at;
    if (beyond && this.ready.value) return this.jumpToNewest({isJump});
    this.aim.value = place;
    this.seeking?.abort();
    const seeking = new AbortController();
    this.seeking = seeking;
    const arriving = this.#travel(place, seeking.signal, isJump).finally(() => {
      if (this.arriving === arriving) this.arriving = null;
    });
    this.arriving = arriving;
    return arriving;
  }

  /** Drag the play head: the newest wish counts, and asks at most every few milliseconds. */
  scrub(at) {
    this.aim.value = {at};
    clearTimeout(this.scrubTimer);
    this.scrubTimer = setTimeout(() => this.seek({at}), SCRUB_MS);
  }

  jumpToNewest({isJump = false} = {}) {
    this.seeking?.abort();
    this.arriving = null;
    batch(() => {
      this.replaying.value = false;
      this.aim.value = null;
      this.past.value = null;
      this.opening.value = null;
      this.#changed();
    });
    this.address.write({seq: null}, {isJump});
    this.#follow();
  }

  /** Have changes tried that may give the selected pod a node, at the event shown. */
  async askWhy() {
    const id = this.selected();
    const {seq, past} = this.place;
    if (id && isPending(this.model.entities.get(id))) await this.why.ask(id, past ? seq : null);
  }

  /** Ask the engine to patch an object. */
  applyFix(object, patch) {
    return this.command({verb: "patch", object, patch});
  }

  /** As `commands`, of one. */
  command(body) {
    return this.commands([body]);
  }

  /**
   * Hand the engine commands, one after the other, up to the first that is refused; a person is asked
   * before, where they take something away or start the run again. The outcome comes as an event, a
   * refusal as a notice. Whether all went well, as far as is known.
   */
  async commands(bodies) {
    if (!(await this.#hasConsent(bodies))) return false;
    for (const body of bodies) {
      if (!(await this.#send(body))) return false;
    }
    return true;
  }

  async #hasConsent(bodies) {
    const question = consentFor(this.run.value, bodies);
    if (!question) return true;
    this.asking.value?.answer(false);
    const given = await new Promise((answer) => {
      this.asking.value = {...question, answer};
    });
    this.asking.value = null;
    return given;
  }

  async #send(body) {
    let accepted = false;
    await this.#guard(
      async () => {
        const outcome = await this.api.post("commands/", body, {isRepeatable: REPEATABLE.includes(body.verb)});
        accepted = outcome.status !== "rejected";
        this.notice.value = accepted ? "" : outcome.reason;
        this.why.forget();
      },
      () => this.#send(body),
    );
    return accepted;
  }

  /**
   * Make a fork after event *seq*, hand it these commands, have it play to where the pod of this id is
   * promised to be bound, to *node* at *at*, and go to the pod's page there.
   */
  async tryInFork(id, bodies, {seq, order, node, at}) {
    await this.#guard(async () => {
      const name = `${this.run.value.name}: ${order}`.slice(0, LONGEST_NAME);
      const fork = await this.api.post("fork/", {seq, name}, {longestMs: FORK_MS});
      const api = new RunApi(fork.id);
      for (const body of bodies) {
        const {status, reason} = await api.post("commands/", body);
        if (status === "rejected") throw new Error(`In fork #${fork.id} it was refused: ${reason}`);
      }
      await api.post("transport/", {action: "play", until_pod: id, trial: {order, node, at}});
      location.assign(`/runs/${fork.id}/pods/${id.slice("pod/".length)}/`);
    });
  }

  /** Make a new run of the same scenario and commands, computed by the version that serves this page. */
  async repeat() {
    await this.#guard(async () => {
      const again = await this.api.post("fork/", {afresh: true});
      location.assign(`/runs/${again.id}/`);
    });
  }

  // Following the run ------------------------------------------------------------------------------

  #receive(message) {
    this.queue.push(message);
    // A hidden page gets no animation frames; fold at once so that nothing piles up.
    if (document.hidden) this.#drain();
    else if (!this.scheduled) {
      this.scheduled = true;
      requestAnimationFrame(() => this.#drain());
    }
  }

  /** Fold what came since the last animation frame, and draw once. */
  #drain() {
    this.scheduled = false;
    const queue = this.queue;
    this.queue = [];
    let changed = false;
    try {
      for (const message of queue) changed = this.#fold(message) || changed;
    } catch (error) {
      if (!(error instanceof GapError)) throw error;
      this.stream.resume();
    }
    if (!changed) return;
    batch(() => {
      this.ready.value = true;
      if (!this.past.value) this.#changed();
    });
    this.#meetNewest();
    this.#refreshHistogram();
  }

  /** Where a page was opened at what turned out to be the newest event, it follows the run from there. */
  #meetNewest() {
    if (this.hasMet) return;
    this.hasMet = true;
    const past = this.past.value;
    const rests = this.run.value.status !== "playing";
    if (past && rests && !this.replaying.value && past.model.seq >= this.live.seq) this.jumpToNewest();
  }

  /** Follow the run, from now on. */
  #follow() {
    if (!this.stream.isOpen) this.stream.open();
  }

  #fold(message) {
    if (message.type === "snapshot") {
      this.live.reset(message);
      this.histogram.add(message.at, 0);
      if (message.run) this.run.value = {...this.run.value, ...message.run};
      this.#fillCounters(this.live);
      return true;
    }
    if (message.type === "run") {
      this.run.value = {...this.run.value, ...message.run};
      return this.ready.value && this.live.rest(message.run.head, message.run.head_at);
    }
    if (message.type !== "frame") return false;
    const folded = this.live.apply(message);
    if (folded) this.histogram.add(message.at, message.last - message.first + 1);
    return folded;
  }

  #refreshHistogram() {
    if (this.histogramTimer) return;
    this.histogramTimer = setTimeout(() => {
      this.histogramTimer = null;
      this.#loadHistogram();
      this.#fillCounters(this.live);
    }, HISTOGRAM_MS);
  }

  async #loadHistogram() {
    await this.#guard(async () => {
      this.histogram.reset(await this.api.get("histogram/", {buckets: 120}));
      if (this.ready.value) this.histogram.add(this.live.at, 0);
      this.tick.value += 1;
    });
  }

  /** Until they are known, what is drawn of the counters says that it is not. */
  async #fillCounters(model) {
    const filled = await fillCounters(this.api, model).catch(() => false);
    if (filled && this.model === model) this.#changed();
  }

  #changed() {
    const {model} = this;
    this.beforeDraw(model.moved);
    model.moved = [];
    this.tick.value += 1;
  }

  // Looking at the past ----------------------------------------------------------------------------

  #showPast(cursor, isJump = false) {
    if (this.ready.value && cursor.model.seq >= this.live.seq) return this.jumpToNewest({isJump});
    batch(() => {
      this.past.value = cursor;
      this.opening.value = null;
      this.aim.value = null;
      this.notice.value = "";
      this.#changed();
    });
    this.address.write({seq: cursor.model.seq}, {isJump});
    clearTimeout(this.fillTimer);
    this.fillTimer = setTimeout(() => {
      this.#fillCounters(cursor.model);
    }, 200);
    return undefined;
  }

  /** Load a place and show it. Returns whether it was reached: not when another was asked for. */
  async #travel(place, signal, isJump) {
    const cursor = new PastCursor(this.api);
    const reached = await this.#guard(
      async () => {
        await cursor.jump(place, signal);
        if (!signal.aborted) this.#showPast(cursor, isJump);
      },
      () => this.seek(place, {isJump}),
    );
    if (signal.aborted) return false;
    this.aim.value = null;
    return reached;
  }

  /** Load the state that the page was opened at. Returns whether it is shown. */
  async #arrive(cursor, seq) {
    try {
      await cursor.jump({seq});
    } catch (error) {
      if (this.opening.value) this.opening.value = {seq, problem: error.message};
      return false;
    }
    // Somebody may have gone elsewhere meanwhile.
    if (this.opening.value?.seq !== seq) return false;
    this.#showPast(cursor);
    return true;
  }

  /** A step on: over recorded events while looking at the past, else by the engine. */
  #step(unit, forward) {
    return this.#inOrder(async () => {
      const cursor = this.past.value;
      if (!cursor) return this.#transport({action: "step", unit});
      await forward(cursor);
      if (this.past.value === cursor) this.#showPast(cursor);
      return undefined;
    });
  }

  /** One step after the other, each from the place that was last asked for, once that is reached. */
  #inOrder(step) {
    const {walked, arriving} = this;
    this.replaying.value = false;
    this.walked = (async () => {
      await walked;
      if (arriving && !(await arriving)) return;
      await this.#guard(step);
    })();
    return this.walked;
  }

  /** Play recorded events at the speed of the run until the newest is reached. */
  async #replay() {
    this.replaying.value = true;
    const cursor = this.past.value;
    let clock = cursor.model.at;
    let then = performance.now();
    await this.#guard(async () => {
      while (this.replaying.value && this.past.value === cursor) {
        const now = await animationFrame();
        const factor = SPEED[this.run.value.speed] ?? 1;
        clock = factor === Infinity ? Infinity : clock + (now - then) * 1e6 * factor;
        then = now;
        let moved = false;
        for (let i = 0; i < REPLAYED_PER_FRAME; i += 1) {
          const next = await cursor.peek();
          if (!next || next.seq > this.live.seq) return this.jumpToNewest();
          if (next.at > clock) break;
          await cursor.forward();
          moved = true;
        }
        if (moved && this.past.value === cursor) this.#showPast(cursor);
      }
      return undefined;
    });
    this.replaying.value = false;
  }

  // Talking to the server --------------------------------------------------------------------------

  async #transport(body) {
    const isRepeatable = body.action !== "step";
    await this.#guard(
      async () => {
        const run = await this.api.post("transport/", body, {isRepeatable});
        this.run.value = {...this.run.value, ...run};
        this.notice.value = "";
      },
      () => this.#transport(body),
    );
    // A run with nothing left to do may be over again before the stream had anything to tell.
    clearTimeout(this.settleTimer);
    this.settleTimer = setTimeout(() => this.#settle(), SETTLE_MS);
  }

  async #settle() {
    await this.#guard(async () => {
      this.run.value = {...this.run.value, ...(await this.api.get(""))};
    });
  }

  /**
   * Do it; what goes wrong becomes a notice, which offers to try `again` where that is safe. Returns
   * whether it went well.
   */
  async #guard(work, again = null) {
    try {
      await work();
      return true;
    } catch (error) {
      if (error.name !== "AbortError") this.tell(error, again);
      return false;
    }
  }

  /** Put up a notice of what went wrong. */
  tell(error, again = null) {
    batch(() => {
      this.notice.value = error.message;
      this.again.value = error.again && again ? {message: error.message, retry: again} : null;
    });
  }
}

/** The pod that was tried most often, or null; in a large cluster nobody is singled out. */
function mostAttempted(entities) {
  if (entities.size > MOST_SEARCHED) return null;
  let [found, attempts] = [null, 0];
  for (const [id, entity] of entities) {
    if (id.startsWith("pod/") && entity.attempts > attempts) [found, attempts] = [id, entity.attempts];
  }
  return found;
}

function animationFrame() {
  return new Promise((resolve) => {
    requestAnimationFrame(resolve);
  });
}
