import {batch, computed, effect, signal} from "@preact/signals";

import {pause} from "../../lib/pause.js";
import {clockAt, dwellMs, parseSpeed} from "../../model/film/clock.js";
import {claimFilmOf, claimPicture} from "../../model/film/claim_film.js";
import {filmOf, placeOfPhase, placeOfStep} from "../../model/film/film.js";
import {pictureOf} from "../../model/film/picture.js";
import {parseSeq} from "../../model/run/timeline.js";
import {BoardAt} from "./board_at.js";
import {readEvents} from "./film_events.js";

/** The server plays the run again for each answer. */
const REST_MS = 2000;

/**
 * The film that a viewer sees: which one, which step, how fast. It sends no command, and the run goes on as it was.
 *
 * `held` is {status: "loading" | "ready" | "failed", film, message}; a film stays until another is there. `by` is the
 * direction of the last move, 1 or -1, or 0 for a jump. `calm` says whether the viewer wants little motion: then nothing plays.
 */
export class FilmPlayer {
  constructor(session, {calm}) {
    this.session = session;
    this.calm = calm;
    this.board = new BoardAt(session.api);
    const {address} = session;
    this.wanted = signal(this.#named());
    this.speed = signal(parseSpeed(address.query("speed")));
    /** @type {import("@preact/signals").Signal<{status: string, film?: any, message?: string}>} */
    this.held = signal({status: "loading"});
    this.film = computed(() => this.held.value.film ?? null);
    this.place = signal(0);
    this.by = signal(0);
    /** 1 while it plays, -1 while it plays backwards. */
    this.playing = signal(0);
    /** How much of the step has passed on screen, 0 to 1. */
    this.part = signal(1);
    this.picture = computed(() => (this.film.value ? paint(this.film.value, this.place.value) : null));
    this.step = computed(() => this.film.value?.steps[this.place.value] ?? null);
    /** The time on the clock, in ns. */
    this.clock = computed(() =>
      this.film.value ? clockAt(this.film.value, this.place.value, this.playing.value ? this.part.value : 0) : 0,
    );
    /** In a large cluster: the place of the refusal whose nodes alone are dark, -1 for those that fit, or null. */
    this.only = signal(null);
    this.aim = 0;
    this.turn = 0;
  }

  get model() {
    return this.board.model;
  }

  start() {
    effect(() => {
      const wanted = this.wanted.value ?? this.#newest();
      if (wanted !== null && !isSame(this.asked, wanted)) this.#load(wanted);
    });
    effect(() => {
      if (this.calm.value) this.stop();
    });
  }

  /** Show the film and the step in the address, for example after the browser's back button. */
  revisit() {
    this.stop();
    const {address} = this.session;
    this.speed.value = parseSpeed(address.query("speed"));
    const wanted = this.#named();
    if (!isSame(wanted, this.wanted.value)) this.wanted.value = wanted;
    else if (this.film.value) this.#show(placeOfStep(this.film.value, address.query("step")), 0);
  }

  retry() {
    this.#load(this.asked);
  }

  /** Go to the step in a place, and stand there. */
  go(place) {
    this.stop();
    const {steps} = this.film.value ?? {steps: []};
    const to = Math.max(0, Math.min(steps.length - 1, place));
    if (steps.length > 0 && to !== this.aim) this.#show(to, Math.sign(to - this.aim));
  }

  /** Go so many steps on. */
  move(by) {
    this.go(this.aim + by);
  }

  goToEnd() {
    this.go(Infinity);
  }

  /** Go to the phase after, or before with -1. */
  movePhase(by) {
    if (this.film.value) this.go(placeOfPhase(this.film.value, this.aim, by));
  }

  /** Play forwards (1) or backwards (-1); what plays already pauses. Without motion it is a step. */
  play(by) {
    if (!this.film.value) return;
    if (this.calm.value) this.move(by);
    else if (this.playing.value === by) this.stop();
    else this.#play(by);
  }

  stop() {
    this.turn += 1;
    // In real time the board went on beyond the event of the step.
    if (this.playing.peek() !== 0 && this.step.peek()) this.board.reach(this.step.peek().seq).catch(() => {});
    this.aim = this.place.peek();
    batch(() => {
      this.playing.value = 0;
      this.part.value = 1;
    });
  }

  setSpeed(speed) {
    this.speed.value = speed;
    this.session.address.write({speed: String(speed)});
  }

  /** The film of the pod's attempt before or after, if there is one. */
  async turnTo(by) {
    const {film} = this.held.value;
    if (film?.kind !== "cycle") return;
    const other = await this.#attempt(film.answer, by);
    if (other === null) return;
    this.stop();
    this.session.address.write({cycle: other, step: null}, {isJump: true});
    this.wanted.value = this.#named();
  }

  /** The cycle of the attempt before or after, or null. */
  async #attempt({pod, seq}, by) {
    const range = by > 0 ? {after: seq, order: "asc"} : {before: seq, order: "desc"};
    const {items: events} = await this.session.api.get("events/", {
      object: `pod/${pod}`,
      kind: "AttemptStarted",
      limit: 1,
      ...range,
    });
    return events.length > 0 ? parseSeq(/^cycle (\d+)/.exec(events[0].message)?.[1] ?? "") : null;
  }

  /** The film that the address names: {cycle, pod, seq}; the newest of its pod up to an event, or null. */
  #named() {
    const {address} = this.session;
    const [claim, pod] = [address.query("claim"), address.query("pod")];
    const [cycle, until] = [parseSeq(address.query("cycle")), parseSeq(address.query("until"))];
    if (cycle === null && claim !== "") return {claim, cycle: null, pod: "", seq: null};
    return cycle === null && pod === "" ? null : {claim: "", cycle, pod, seq: cycle === null ? until : null};
  }

  /** The newest cycle of the run. */
  #newest() {
    const cycle = this.session.isWaiting ? undefined : this.session.model.entities.get("queue")?.cycle;
    return cycle === undefined ? null : {claim: "", cycle, pod: "", seq: null};
  }

  async #load(wanted) {
    this.asked = wanted;
    this.held.value = {...this.held.value, status: "loading"};
    try {
      const film = await this.#read(wanted);
      const before = this.film.peek();
      const isMore = before !== null && aboutOf(before) === aboutOf(film);
      const named = isMore ? before.steps[this.aim].id : this.session.address.query("step");
      const place = placeOfStep(film, named);
      await this.board.reach(film.steps[place].seq);
      if (this.asked === wanted) this.#take(film, place);
    } catch (error) {
      if (this.asked === wanted) this.held.value = {...this.held.value, status: "failed", message: error.message};
    }
  }

  /** Show a film that was read. */
  #take(film, place) {
    this.aim = place;
    batch(() => {
      this.held.value = {status: "ready", film};
      this.place.value = place;
      this.by.value = 0;
    });
    this.#write(film, place);
    if (!film.isOver) this.#follow(this.asked);
  }

  async #read(wanted) {
    const {api} = this.session;
    if (wanted.claim) return claimFilmOf(await api.get("inside/volumes/", {claim: wanted.claim}));
    const {cycle, pod, seq} = wanted;
    const answer = await api.get("inside/scheduler/", {cycle, pod, seq});
    return filmOf(answer, await readEvents(api, answer));
  }

  /** A cycle that has not ended goes on with the run. */
  async #follow(wanted) {
    const {live} = this.session;
    const {seq} = live.head;
    await pause(REST_MS);
    while (this.asked === wanted && live.head.seq === seq) await pause(REST_MS);
    if (this.asked === wanted) await this.#load(wanted);
  }

  /** Show the step in a place once the board is there. Returns whether it is shown. */
  async #show(place, by) {
    this.turn += 1;
    const {turn} = this;
    const film = this.film.value;
    this.aim = place;
    const {seq} = film.steps[place];
    if (this.board.seq !== seq) await this.session.notices.guard(() => this.board.reach(seq));
    if (turn !== this.turn || film !== this.film.value) return false;
    batch(() => {
      this.place.value = place;
      this.by.value = by;
    });
    this.#write(film, place);
    return true;
  }

  #write({kind, answer, steps}, place) {
    const {id} = steps[place];
    const own =
      kind === "claim"
        ? {claim: answer.entity}
        : {cycle: answer.cycle, pod: `pod/${answer.pod}`, claim: null, until: null};
    this.session.address.write({...own, step: id});
    const named = this.#named();
    if (isSame(named, this.asked)) return;
    this.asked = named;
    this.wanted.value = named;
  }

  async #play(by) {
    const {steps} = this.film.value;
    if (by > 0 && this.aim === steps.length - 1) await this.#show(0, 0);
    this.turn += 1;
    batch(() => {
      this.playing.value = by;
      this.part.value = by > 0 ? 0 : 1;
    });
    let then = null;
    while (this.playing.value === by) {
      const now = await animationFrame();
      if (this.playing.value !== by) return;
      const passed = then === null ? 0 : now - then;
      then = now;
      const part = this.part.value + (by * passed) / dwellMs(this.film.value, this.place.value, this.speed.value);
      this.part.value = Math.max(0, Math.min(1, part));
      if (part <= 0 && by < 0) await this.#turnPage(-1);
      else if (part >= 1 && by > 0) await this.#turnPage(1);
      else if (by > 0) await this.#drawBetween();
    }
  }

  /** The step after, or before, while it plays; it stops at the ends. */
  async #turnPage(by) {
    const place = this.place.value + by;
    if (place < 0 || place >= this.film.value.steps.length) return this.stop();
    const isShown = await this.#show(place, by);
    if (isShown) this.part.value = by > 0 ? 0 : 1;
    return undefined;
  }

  /** In real time every event of the run is drawn as its time comes. */
  async #drawBetween() {
    const next = this.film.value.steps[this.place.value + 1];
    if (!next || this.step.value.isStill) return;
    while (await this.board.take(this.clock.value, next.seq));
  }
}

/** What tells one film of a run from another. */
function aboutOf({kind, answer}) {
  return kind === "claim" ? answer.entity : answer.seq;
}

/** The picture of a film of either kind. */
function paint(film, place) {
  return film.kind === "claim" ? claimPicture(film, place) : pictureOf(film, place);
}

function isSame(one, other) {
  return (
    one?.claim === other?.claim && one?.cycle === other?.cycle && one?.pod === other?.pod && one?.seq === other?.seq
  );
}

function animationFrame() {
  return new Promise((resolve) => {
    requestAnimationFrame(resolve);
  });
}
