import {batch, computed, effect, signal} from "@preact/signals";

import {Asking} from "../../lib/asking.js";
import {hasEnded, placeOf, seqOf, stepFrom, stepsOf} from "../../model/inside/cycle.js";
import {writesAsked} from "../../model/inside/cycle_binding.js";
import {parseSeq} from "../../model/run/timeline.js";
import {parseId} from "../../model/shared/format.js";
import {WhatIf} from "./what_if.js";

const WAIT_MS = 120;
/** The server plays the run again for each request, and a playing run changes all the time. */
const REST_MS = 1000;
const KEPT_ANSWERS = 20;

/**
 * The scheduling cycle that is shown, and its step.
 *
 * It is the one that the address names, else the newest of the selected pod, else the newest of all, up to the event
 * shown. `held` is {status: "loading" | "ready" | "failed", answer, message}; an answer stays until another is there.
 */
export class Cycle {
  constructor(session) {
    this.session = session;
    this.number = signal(parseSeq(session.address.query("cycle")));
    this.named = signal(session.address.query("step"));
    /** What is asked: {cycle, pod, seq}, or null while no cycle has run. A change of its key asks anew. */
    this.wanted = computed(() => this.#wanted());
    /** @type {import("@preact/signals").Signal<{status: string, key: string, answer?: any, message?: string}>} */
    this.held = signal({status: "loading", key: ""});
    this.answer = computed(() => this.held.value.answer ?? null);
    this.steps = computed(() => (this.answer.value ? stepsOf(this.answer.value) : []));
    this.place = computed(() => {
      if (this.steps.value.length === 0) return -1;
      const {seq, past} = session.place;
      return placeOf(this.steps.value, this.named.value, past ? seq : null);
    });
    /** Whether the event shown is before the cycle. */
    this.isAhead = computed(() => {
      const {seq, past} = session.place;
      return past && this.steps.value.length > 0 && seq < this.steps.value[0].seq;
    });
    /** Who leads, by the seq of the cycle. @type {import("@preact/signals").Signal<any>} */
    this.replicas = signal(null);
    /** What others wrote while the pod was bound. @type {import("@preact/signals").Signal<any[]>} */
    this.writes = signal([]);
    this.whatIf = new WhatIf(session);
    this.kept = new Map();
    this.asking = new Asking({
      wanted: () => this.#missing(),
      ask: (wanted) => this.#read(wanted),
      rest: () => (this.#follows() ? REST_MS : 0),
      waitMs: WAIT_MS,
    });
    /** Whether the play head is to go to the step that is shown, once the answer is there. */
    this.isOpening = signal(this.number.value !== null && session.address.query("seq") === "");
  }

  start() {
    effect(() => {
      if (this.wanted.value) this.asking.start();
    });
  }

  /** Show the cycle and the step in the address, for example after the browser's back button. */
  revisit() {
    batch(() => {
      this.number.value = parseSeq(this.session.address.query("cycle"));
      this.named.value = this.session.address.query("step");
    });
  }

  /** Show the step at *place*; the play head goes to the event of that step. */
  go(place) {
    const step = this.steps.value[place];
    if (!step || step.state === "ahead") return;
    const {cycle} = this.answer.value;
    const seq = seqOf(this.steps.value, place);
    // Where the play head goes is part of the same place, so that the browser's back button undoes both.
    this.session.address.write({cycle, step: step.id}, {isJump: true});
    batch(() => {
      this.number.value = cycle;
      this.named.value = step.id;
    });
    this.session.playhead.show(seq);
  }

  /** Show the step that is so many further on. */
  move(by) {
    if (this.place.value >= 0) this.go(stepFrom(this.steps.value, this.place.value, by));
  }

  /** Show the last step that can be opened. */
  goToEnd() {
    this.go(this.steps.value.findLastIndex(({state}) => state !== "ahead"));
  }

  /** Show the cycle that is so many further on, at its same step. */
  turn(by) {
    const number = (this.number.value ?? this.answer.value?.cycle ?? 0) + by;
    if (number < 1) return;
    this.isOpening.value = true;
    this.session.address.write({cycle: number, pod: null, step: this.named.value}, {isJump: true});
    batch(() => {
      this.session.select({pod: null});
      this.number.value = number;
    });
  }

  /** Show the newest cycle up to the event shown, of whichever pod. */
  follow() {
    batch(() => {
      this.isOpening.value = false;
      this.session.select({pod: null});
      this.number.value = null;
    });
    this.session.address.write({cycle: null, step: null});
  }

  /** Ask again after a failure. */
  retry() {
    this.held.value = {...this.held.value, status: "loading", key: ""};
    this.asking.start();
  }

  #wanted() {
    const {model, selection, place} = this.session;
    const pod = selection.pod.value ? parseId(selection.pod.value).key : "";
    const cycle = this.number.value;
    if (cycle !== null) return {cycle, pod, seq: null, key: `${cycle} ${pod} ${this.#progress(place)}`};
    if (this.session.isWaiting || place.seq === 0) return null;
    if (pod) {
      const attempts = model.entities.get(selection.pod.value)?.attempts ?? 0;
      return {cycle: null, pod, seq: place.seq, key: `${attempts} of ${pod} ${this.#progress(place)}`};
    }
    const newest = model.entities.get("queue")?.cycle;
    if (!newest) return null;
    // Several schedulers have cycles of the same number.
    const began = model.run.events.find(({kind}) => kind === "AttemptStarted");
    const of = began ? {cycle: null, pod: parseId(began.object).key} : {cycle: newest, pod: ""};
    return {...of, seq: place.seq, key: `newest ${newest} ${of.pod} ${this.#progress(place)}`};
  }

  /** Grows with the run while the cycle has not ended. */
  #progress({past}) {
    const answer = this.held.peek().answer;
    if (past || !answer || hasEnded(answer)) return "";
    return String(this.session.live.head.seq);
  }

  /** What is wanted and not held. */
  #missing() {
    const wanted = this.wanted.peek();
    if (wanted === null || this.held.peek().key === wanted.key) return null;
    if (!this.#isAbout(wanted)) return wanted;
    this.held.value = {...this.held.peek(), key: wanted.key};
    return null;
  }

  /** Whether what is wanted changes with the run. */
  #follows() {
    const answer = this.answer.peek();
    return this.number.peek() === null || (answer !== null && !hasEnded(answer));
  }

  /** Whether the answer that is held is all that the server would say. */
  #isAbout({cycle, pod, seq}) {
    const {answer} = this.held.peek();
    if (!answer || seq !== null || !hasEnded(answer)) return false;
    return answer.cycle === cycle && (pod === "" || pod === answer.pod);
  }

  async #read({key, cycle, pod, seq}) {
    const params = {cycle, pod, seq};
    const known = this.kept.get(JSON.stringify(params));
    try {
      const answer = known ?? (await this.session.api.get("inside/scheduler/", params));
      if (hasEnded(answer)) this.#keep(JSON.stringify(params), answer);
      if (this.wanted.peek()?.key !== key) return;
      this.held.value = {status: "ready", key, answer};
      if (this.number.peek() !== null) this.session.select({pod: `pod/${answer.pod}`});
      this.#open(answer);
      this.#readReplicas(answer);
      this.#readWrites(answer);
    } catch (error) {
      if (this.wanted.peek()?.key === key) this.held.value = {status: "failed", key, message: error.message};
    }
  }

  /** Take the play head of a page that is opening to the step that the address names, or to the last one. */
  async #open(answer) {
    if (!this.isOpening.peek()) return;
    const steps = this.steps.peek();
    const seq = seqOf(steps, placeOf(steps, this.named.peek(), null));
    if (hasEnded(answer)) await this.session.playhead.show(seq);
    this.isOpening.value = false;
  }

  #keep(key, answer) {
    this.kept.set(key, answer);
    if (this.kept.size > KEPT_ANSWERS) this.kept.delete(this.kept.keys().next().value);
  }

  /** Which process leads when the cycle begins. What the page says stays true without it. */
  async #readReplicas({seq, cycle, snapshot}) {
    if (this.replicas.peek()?.seq === seq) return;
    const {schedulers} = await this.session.api.get("inside/caches/", {seq}).catch(() => ({schedulers: []}));
    if (this.answer.peek()?.cycle !== cycle) return;
    const name = snapshot?.taken.scheduler ?? schedulers[0]?.name;
    this.replicas.value = {seq, found: schedulers.find((each) => each.name === name) ?? null};
  }

  async #readWrites(answer) {
    this.writes.value = [];
    const asked = writesAsked(answer);
    const {items} = asked ? await this.session.api.get("events/", asked).catch(() => ({items: []})) : {items: []};
    if (this.answer.peek() === answer) this.writes.value = items;
  }
}
