import {batch, computed, effect, signal} from "@preact/signals";

import {RunApi, readJson, streamUrl} from "../../lib/api.js";
import {pause} from "../../lib/pause.js";
import {mayGoOn, momentShown, stepOf} from "../../model/lesson/reading.js";
import {placeOf, tellPlace} from "../picture/pictures.js";
import {RunSession} from "../session/run_session.js";
import {keep, readKept} from "./kept.js";

/** Between two events while the run plays to what happened. */
const FRAME_MS = 320;
/** A longer way is played in so many leaps. */
const MOST_FRAMES = 24;

/** The address of a lesson names the step alone: which event is shown follows from it. */
class NoAddress {
  seq = null;
  pod = null;
  search = "";

  read() {
    return {seq: null, pod: null, claim: null, volume: null, attempt: null};
  }

  write() {
    // The step decides.
  }

  changed() {
    return location.search;
  }

  query() {
    return "";
  }

  inRun() {
    return location.href;
  }

  open(href) {
    location.assign(href);
  }
}

/**
 * Who reads a lesson: the step, the answers, and the run at the instant that is told of.
 *
 * `session` is null until the run is there; `lesson.value.moments` until it is finished. The text can be read meanwhile.
 */
export class Reader {
  constructor(lesson, after) {
    this.lesson = signal(lesson);
    /** The slug of the next lesson, or "". */
    this.after = after;
    const kept = readKept(lesson.slug);
    this.answers = signal(kept?.answers ?? {});
    this.step = signal(stepOf(location.search, lesson.told));
    this.seen = Math.max(kept?.seen ?? 0, this.step.value);
    /** @type {import("@preact/signals").Signal<RunSession | null>} */
    this.session = signal(null);
    /** Why there is no run, or "". */
    this.problem = signal(lesson.refusal);
    this.playing = signal(false);
    /** The mark of the text that was pressed last: {step, words}. @type {import("@preact/signals").Signal<any>} */
    this.pressed = signal(null);
    /** Grows with each move of the reader, which ends what plays. */
    this.moves = 0;
  }

  get steps() {
    return this.lesson.value.told;
  }

  get current() {
    return this.steps[this.step.value];
  }

  get answer() {
    return this.answers.value[this.step.value];
  }

  /** Follow the run, and show the step once it is there. */
  async start() {
    addEventListener("popstate", () => this.go(stepOf(location.search, this.steps), {isJump: false}));
    if (this.lesson.value.run === null) return;
    try {
      await this.#follow(this.lesson.value.run);
    } catch (error) {
      this.problem.value = error.message;
    }
  }

  async #follow(id) {
    const run = await readJson(`/api/v1/runs/${id}/`);
    if (run === null) throw new Error("The run of this lesson cannot be read.");
    const session = new RunSession({
      run: {...run, may_change: false},
      api: new RunApi(id),
      streamUrl: streamUrl(id, location),
      address: new NoAddress(),
      mayFork: false,
    });
    this.session.value = session;
    tellPlace(() => placeOf(session));
    session.evidence.start();
    await session.start();
    const isThere = computed(() => session.run.value.status === "finished" && session.live.ready.value);
    effect(() => {
      // What arrives changes what this effect has read.
      if (isThere.value) queueMicrotask(() => this.#arrive());
    });
  }

  /** The run is finished: read where the moments are, and show the step. */
  async #arrive() {
    if (this.lesson.value.moments === null) {
      const lesson = await readJson(`/api/v1/lessons/${this.lesson.value.slug}/`);
      if (lesson?.moments) this.lesson.value = lesson;
    }
    await this.show(momentShown(this.current, this.answer));
  }

  /** Show the step of this index, if it may be read already. */
  go(index, {isJump = true} = {}) {
    if (index < 0 || index >= this.steps.length) return;
    this.moves += 1;
    batch(() => {
      this.step.value = index;
      this.pressed.value = null;
      this.playing.value = false;
    });
    this.seen = Math.max(this.seen, index);
    this.#keep();
    if (isJump) history.pushState(null, "", `?step=${index + 1}`);
    void this.show(momentShown(this.current, this.answer));
  }

  back() {
    this.go(this.step.value - 1);
  }

  forward() {
    if (mayGoOn(this.steps, this.step.value, this.answers.value)) this.go(this.step.value + 1);
  }

  /** Choose an option of the question, once; the run then plays to what happened. */
  choose(index) {
    const {ask} = this.current;
    if (!ask?.options[index] || this.answer !== undefined) return;
    this.answers.value = {...this.answers.value, [this.step.value]: index};
    this.#keep();
    void this.play(ask.then);
  }

  /** Show a moment, and select what the step selects. */
  async show(name) {
    const place = this.lesson.value.moments?.[name];
    const session = this.session.value;
    if (!place || !session) return;
    await session.playhead.seek({seq: place.seq});
    this.select(this.current.select);
  }

  /** Select an object on the picture. */
  select(id) {
    const kind = id.split("/")[0];
    if (["pod", "claim", "volume"].includes(kind)) this.session.value?.select({[kind]: id});
  }

  /** What a mark in the text does: go to its moment, select its object. */
  press(words) {
    this.moves += 1;
    this.playing.value = false;
    this.pressed.value = words;
    const name = words.moment ?? (words.object ? momentShown(this.current, this.answer) : "");
    void this.show(name).then(() => words.object && this.select(words.object));
  }

  /** Stop, or play from the event shown to the moment of the step, or to the next one. */
  togglePlay() {
    if (this.playing.value) {
      this.moves += 1;
      this.playing.value = false;
      return;
    }
    const names = [momentShown(this.current, this.answer), this.steps[this.step.value + 1]?.at];
    const seq = this.session.value?.model.seq ?? 0;
    const next = names.find((name) => (this.lesson.value.moments?.[name]?.seq ?? 0) > seq);
    if (next && (!this.current.ask || this.answer !== undefined)) void this.play(next);
  }

  /** Play one event after the other up to a moment; who wants no motion sees that moment at once. */
  async play(name) {
    const to = this.lesson.value.moments?.[name]?.seq;
    const session = this.session.value;
    if (!to || !session) return;
    const move = (this.moves += 1);
    const from = session.model.seq;
    if (matchMedia("(prefers-reduced-motion: reduce)").matches || from >= to) {
      await this.show(name);
      return;
    }
    const leap = Math.ceil((to - from) / MOST_FRAMES);
    this.playing.value = true;
    for (let seq = from + leap; seq < to; seq += leap) {
      await pause(FRAME_MS);
      if (this.moves !== move) return;
      await session.playhead.seek({seq});
    }
    await pause(FRAME_MS);
    if (this.moves !== move) return;
    this.playing.value = false;
    await this.show(name);
  }

  #keep() {
    keep(this.lesson.value.slug, {seen: this.seen, answers: this.answers.value});
  }
}
