import {gettext} from "../lib/words.js";
import {Lanes} from "./lanes.js";
import {RunModel} from "../model/run/run_model.js";
import {KEPT_EVENTS} from "../model/run/run_state.js";
import {NEEDS_ENGINE, Refusal} from "./refusal.js";
import {isListed, windowOf} from "./rows.js";

/** The resources of a cluster as it was brought. */
const LOOKS = ["first-look", "triage"];

/** Virtual time of which counts are drawn, as in kscope/runs/history/series.py. */
const WINDOW = 21e9;
const GRID = 1e8;
/** A window with more events counts only the state at its end. */
const MOST_COUNTED = 200_000;
/** A model that is so many events behind is folded on; one that is further away is made anew. */
const MOST_FOLDED = 2000;

const NO_EVIDENCE = gettext("The evidence of this attempt is not in this file.");
const NO_ANSWER = gettext(
  "This file holds the answers for what waited at its end. To ask anything else takes an engine: open the run in kscope.",
);
const NO_MATCHING = gettext("To match volumes and claims takes an engine, which this file does not have.");
const NO_PATH = gettext(
  "This file holds what the pods that waited longest waited for until its end. To follow another pod, or until another event, takes an engine: open the run in kscope.",
);
const HAS_STEPS = gettext("This run began with a scenario that has steps. A triage looks at a cluster as it stands.");
const NO_LOOKS = gettext("The triage was left out of this file, with the answers why.");
const NOT_TRIED = gettext(
  "No changes were tried for this file: its cluster is large. To try them takes an engine: open the run in kscope.",
);
const NO_MANIFEST = gettext("This file holds what pages draw of an object, and not its manifest.");

/**
 * Answers what pages ask, from what was recorded: the same answers as those of the REST interface of the run.
 *
 * `run` has the facts about the run, `history` its events, `histogram` how many there were when, `attempts` the scheduling
 * attempts in order, `evidenceOf(place)` returns the evidence of one or null, `whys` are the stored answers by id, `lanesOf()`
 * returns what each object was when, `pathsOf()` what pods waited for, `looksOf()` the first look and the triage, or null;
 * `insides` answers what went on inside.
 */
export class Answers {
  constructor({run, history, histogram, attempts, evidenceOf, whys, lanesOf, pathsOf, looksOf, insides}) {
    this.run = run;
    this.history = history;
    this.histogram = histogram;
    this.attempts = attempts;
    this.evidenceOf = evidenceOf;
    this.whys = whys;
    this.lanesOf = lanesOf;
    this.pathsOf = pathsOf;
    this.looksOf = looksOf;
    this.insides = insides;
    /** Made when the timeline is opened. @type {Lanes | null} */
    this.lanes = null;
    /** By entity id; read with the first of them. @type {Record<string, any> | null} */
    this.paths = null;
    /** The model of which windows of rows were made last. @type {RunModel | null} */
    this.model = null;
  }

  /** The answer to a GET. Raises Refusal. @param {string} path @param {Record<string, any>} [asked] */
  get(path, asked = {}) {
    const [room, ...names] = path.split("/").slice(0, -1);
    if (path === "") return this.run;
    if (path === "events/") return this.#events(asked);
    if (path === "histogram/") return this.histogram;
    if (path === "counters/") return this.#counters(asked);
    if (path === "attempts/") return this.#attempts(asked);
    if (path === "timeline/") return this.#timeline(asked);
    if (path === "inside/scheduler/") return this.insides.cycle(asked);
    if (path === "inside/volumes/") return this.insides.volumes(asked);
    if (room === "attempts") return this.#evidence(Number(names[0]));
    if (room === "rows" && isListed(names[0])) return this.#rows(names[0], asked);
    if (path.endsWith("/candidates/") || path.endsWith("/claimants/")) throw new Refusal(NO_MATCHING);
    if (room === "pods" && path.endsWith("/path/")) return this.#path(names, asked);
    if (room === "objects") throw new Refusal(NO_MANIFEST);
    throw new Refusal(NEEDS_ENGINE);
  }

  /** The answer to a POST: the speed of the replay can be changed, and nothing else. Raises Refusal. */
  post(path, {action, speed}) {
    if (path !== "transport/" || action !== "speed") throw new Refusal(NEEDS_ENGINE);
    this.run = {...this.run, speed};
    return {speed};
  }

  /** What a resource that is sent in parts says, part by part. Raises Refusal, also after a part. */
  *parts(path, asked) {
    const [room] = path.split("/");
    if (path === "state/") yield {...this.#state(asked), more: false};
    else if (!LOOKS.includes(room)) yield* this.#why(path, asked);
    else yield* this.#look(room);
  }

  *#look(name) {
    const looks = this.looksOf();
    if (!looks) throw new Refusal(this.run.as_brought ? NO_LOOKS : HAS_STEPS);
    yield looks[name];
    if (name === "triage" && !looks.triage.is_whole) throw new Refusal(NOT_TRIED);
  }

  /** The parts of the answer why an object is as it is. */
  #why(path, {seq}) {
    const id = path.split("/").slice(1, -1).map(decodeURIComponent).join("/");
    const answer = this.whys[id];
    const isAtEnd = seq === null || seq === undefined || Number(seq) === this.history.head;
    if (!answer || !isAtEnd) throw new Refusal(NO_ANSWER);
    const {fixes, outlook, tried, conclusion} = answer;
    return [{...answer, fixes: []}, ...fixes.map((fix) => ({fix})), {outlook, tried, conclusion}];
  }

  /** The newest state, as the stream sends it. */
  snapshot() {
    const {head} = this.history;
    const counts = this.#counters({seq: head});
    return {type: "snapshot", ...this.#state({seq: head}), at: this.run.head_at, counts, run: this.run};
  }

  /** The whole state, also where what differs is asked for: here it costs no transfer. @param {{seq?: any, to?: any, at?: any}} asked */
  #state({seq, to, at}) {
    const {history} = this;
    const wanted = to ?? seq ?? (at === undefined || at === null ? history.head : history.seqAt(Number(at)));
    const state = history.stateAt(Math.max(Number(wanted), history.base));
    const {entities, ...place} = state;
    return {...place, state: Object.fromEntries(entities), events: history.newest(state.seq, KEPT_EVENTS)};
  }

  #events(asked) {
    const {base, head} = this.history;
    return {run: this.run.id, lowest: base + 1, highest: head, ...this.history.find(asked)};
  }

  /** @param {{seq?: any}} asked */
  #counters({seq}) {
    const {history} = this;
    const {at} = history.stateAt(seq);
    const end = Math.ceil(at / GRID) * GRID;
    const since = Math.max(0, end - WINDOW);
    const wanted = since > 0 ? history.seqAt(since) : 0;
    const first = seq - wanted > MOST_COUNTED ? seq : Math.max(wanted, history.base);
    const model = this.#modelOf(first);
    for (const event of history.between(first + 1, seq)) model.apply(frameOf(event));
    const {samples} = model.counters;
    return {seq, since: samples[0][0], samples};
  }

  /** @param {{pod?: string, seq?: any, limit?: any}} asked */
  #attempts({pod, seq, limit = 100}) {
    const isWanted = (attempt) =>
      (!pod || attempt.pod === pod) && (seq === undefined || seq === null || attempt.seq <= seq);
    const found = this.attempts.filter(isWanted).reverse();
    return {items: found.slice(0, limit), continue: null};
  }

  #evidence(id) {
    const evidence = this.evidenceOf(id);
    if (!evidence) throw new Refusal(NO_EVIDENCE);
    return evidence;
  }

  /** @param {{seq?: any, [name: string]: any}} asked */
  #timeline({seq, ...asked}) {
    const {history, run} = this;
    this.lanes ??= new Lanes(this.lanesOf(), history.times());
    const head = {seq: history.head, at: run.head_at};
    const isPast = seq !== undefined && seq !== null && Number(seq) < head.seq;
    const place = isPast ? {seq: Number(seq), at: history.event(Number(seq))?.at ?? 0} : head;
    const found = asked.pod && !isPast ? this.#pathOf(asked.pod) : null;
    const own = () => history.find({object: `pod/${asked.pod}`, order: "asc", limit: Infinity}).items;
    return this.lanes.timeline(asked, {...place, head}, found && {...found, own: () => newestOf(own())});
  }

  /** What a pod waited for until the end. @param {string[]} names @param {{seq?: any}} asked */
  #path(names, {seq}) {
    const found = this.#pathOf(names.slice(0, 2).map(decodeURIComponent).join("/"));
    const isAtEnd = seq === undefined || seq === null || Number(seq) === this.history.head;
    if (!found || !isAtEnd) throw new Refusal(NO_PATH);
    return found.path;
  }

  #pathOf(key) {
    const paths = this.paths ?? this.pathsOf();
    this.paths = paths;
    return paths[`pod/${key}`] ?? null;
  }

  /** @param {string} kind @param {{seq?: any, [name: string]: any}} asked */
  #rows(kind, {seq, ...wanted}) {
    const model = this.#modelAt(Math.max(Number(seq ?? this.history.head), this.history.base));
    return {seq: model.seq, read: model.seq, ...windowOf(model, kind, wanted)};
  }

  /** The model after an event: the one that is kept, folded on, where that is near. */
  #modelAt(seq) {
    const {model, history} = this;
    if (model && model.seq <= seq && seq - model.seq <= MOST_FOLDED) {
      for (const event of history.between(model.seq + 1, seq)) model.apply(frameOf(event));
      return model;
    }
    this.model = this.#modelOf(seq);
    return this.model;
  }

  #modelOf(seq) {
    const model = new RunModel();
    model.reset(this.#state({seq}));
    if (seq === this.history.head) model.rest(seq, this.run.head_at);
    return model;
  }
}

/** The events of the newest object of a name: those from its creation on. */
function newestOf(events) {
  const created = events.findLastIndex(({kind}) => kind === "PodCreated");
  return created < 0 ? [] : events.slice(created);
}

function frameOf(event) {
  return {first: event.seq, last: event.seq, at: event.at, changes: event.changes, events: [event]};
}
