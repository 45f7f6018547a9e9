import {batch, computed, signal} from "@preact/signals";

import {SELECTED, objectPage, pageHref} from "../../model/run/place.js";
import {isOfAskedKind} from "../../model/why/answer.js";
import {Answer} from "../run/answer.js";
import {Why} from "../why/why.js";
import {Commands} from "./commands.js";
import {NewestEvidence} from "./evidence.js";
import {LiveRun} from "./live_run.js";
import {Notices} from "./notices.js";
import {Playhead} from "./playhead.js";

const MOST_SEARCHED = 2000;

/**
 * The session of a run: what every open page of a run needs, whatever it draws.
 *
 * `live` follows the run, `playhead` decides which event is shown, `commands` sends the user's
 * requests, `notices` holds what went wrong; the session itself keeps the selection. Addresses are passed in:
 * `api` for the REST interface, `streamUrl` for the WebSocket, `address` for the page itself. `mayFork`
 * is whether the user may create runs.
 */
export class RunSession {
  constructor({run, api, streamUrl, address, mayFork = true}) {
    this.api = api;
    this.address = address;
    this.mayFork = mayFork;
    /** Called with the ids of the pods that moved, just before they are drawn in their new places. @type {(moved: string[]) => void} */
    this.beforeDraw = () => {};
    /** Returns the id of the object that the question why is about, or null; each page sets its own. */
    this.subject = () => this.selected();
    /** The selected ids by kind, null where none is selected. */
    this.selection = Object.fromEntries(SELECTED.map((kind) => [kind, signal(address[kind] ?? null)]));
    this.fallback = null;
    const notices = new Notices(address.problem);
    const redraw = () => this.#redraw();
    this.notices = notices;
    this.live = new LiveRun({run, api, streamUrl, notices, onFold: () => this.#takeFold(), onMore: redraw});
    this.run = this.live.run;
    this.runId = run.id;
    this.why = new Why(api);
    this.commands = new Commands({api, run: this.run, address, notices, onSent: () => this.why.forget()});
    const {live, commands} = this;
    this.playhead = new Playhead({api, live, address, commands, notices, onChange: redraw});
    this.tick = this.playhead.tick;
    /** What links keep of the place: the event shown in the past, null at the newest, which is not in an address. */
    this.keptSeq = computed(() => (this.place.past ? this.place.seq : null));
    this.evidence = new NewestEvidence(this);
    this.answer = new Answer(this);
  }

  /** The model that is shown. A view that reads it is drawn again whenever what is shown changes. */
  get model() {
    void this.tick.value;
    return this.playhead.model;
  }

  /** Whether the state that is to be shown is not loaded yet. */
  get isWaiting() {
    return this.playhead.isWaiting;
  }

  /** Which event is shown, and whether that is in the past. An effect that reads it runs again with every step. */
  get place() {
    return this.playhead.place;
  }

  /** Whether events follow each other by themselves: at the newest event while the run plays, in the past while it is replayed. */
  get isMoving() {
    return this.keptSeq.value === null ? this.run.value.status === "playing" : this.playhead.replaying.value;
  }

  /** Whether the user may send commands to the run; without that right the run is read-only. */
  get mayChange() {
    return this.run.value.may_change !== false;
  }

  /** Whether the run is what a file recorded of it: nothing comes after its newest event. */
  get isRecorded() {
    return this.run.value.is_recorded === true;
  }

  async start() {
    this.live.loadHistogram();
    // Load the state that was asked for before the newest one.
    if (this.playhead.opening.value) await this.playhead.open();
    this.live.follow();
  }

  /** Show the place in the address, for example after the browser's back button. */
  revisit() {
    const place = this.address.read();
    batch(() => {
      for (const kind of SELECTED) this.selection[kind].value = place[kind];
    });
    if (place.seq === null) this.playhead.jumpToNewest();
    else this.playhead.show(place.seq);
  }

  /** Select the pod of this id. */
  pick(id) {
    this.select({pod: id});
  }

  /** Select these ids, by kind; null deselects. */
  select(ids) {
    batch(() => {
      for (const [kind, id] of Object.entries(ids)) this.selection[kind].value = id;
    });
    this.address.write(ids);
  }

  /** The selected ids of all kinds. */
  selectedIds() {
    return SELECTED.map((kind) => this.selection[kind].value).filter(Boolean);
  }

  /** The object that the scenario of the run speaks of, if it is there and of that kind; else null. */
  spokenOf(...kinds) {
    const id = this.run.value.select ?? "";
    return kinds.includes(id.split("/", 1)[0]) && this.model.entities.has(id) ? id : null;
  }

  /** The id of the pod that the inspector shows: the selected one, else that of the scenario, else an unschedulable one. */
  selected() {
    const {entities, lanes} = this.model;
    if (this.selection.pod.value) return this.selection.pod.value;
    const spokenOf = this.spokenOf("pod");
    if (spokenOf) return spokenOf;
    if (!entities.get(this.fallback)?.queue) {
      const stuck = lanes.first("unschedulable")[0]?.[0];
      this.fallback = stuck ?? (entities.has(this.fallback) ? this.fallback : mostAttempted(entities));
    }
    return this.fallback;
  }

  /** Ask why the object of the page is as it is, and which changes would help, at the event shown. */
  async askWhy() {
    const id = this.subject();
    const {seq, past} = this.place;
    if (isOfAskedKind(id)) await this.why.ask(id, past ? seq : null);
  }

  /**
   * The address of a page of this run at the event shown and with the same selection; `more` is added or
   * replaces these. In the past the pod that is selected without having been picked is kept too. A view with a link is not
   * drawn again for each event of a run that plays.
   */
  href(page, more = {}) {
    return pageHref(this.runId, page, {...this.#kept(), seq: this.keptSeq.value, ...more});
  }

  /** The address of the page of an object, at the event shown or at another one. */
  hrefOf(id, more = {}) {
    const {page, ...place} = objectPage(id);
    return this.href(page, {...place, ...more});
  }

  /** The address of this page at another event. */
  hrefAt(seq) {
    return this.address.changed({seq});
  }

  /** The address of this page of another run, at its newest event and with the same selection. */
  hrefInRun(run) {
    return this.address.inRun(run, this.#kept());
  }

  #kept() {
    const kept = Object.fromEntries(SELECTED.map((kind) => [kind, this.selection[kind].value]));
    if (this.keptSeq.value !== null && !this.isWaiting) kept.pod ??= this.selected();
    return kept;
  }

  #takeFold() {
    batch(() => {
      this.live.ready.value = true;
      if (!this.playhead.past.value) this.#redraw();
    });
    this.playhead.meetNewest();
  }

  #redraw() {
    const {model} = this.playhead;
    this.beforeDraw(model.moved);
    model.moved = [];
    this.tick.value += 1;
  }
}

/** The id of the pod with the most attempts, or null; none is selected in a large cluster. */
function mostAttempted(entities) {
  if (entities.size > MOST_SEARCHED) return null;
  let [found, attempts] = [null, 0];
  for (const [id, entity] of entities) {
    if (id.startsWith("pod/") && entity.attempts > attempts) [found, attempts] = [id, entity.attempts];
  }
  return found;
}
