import {Lane, Tally, countBelow, countUpTo} from "./lane.js";

const BUCKETS = 160;
/** An area has one part for so many pixels. */
const PART = 2;
/** So many pods are named that waited longest. */
const LONGEST = 8;
const PLAIN = {
  count: 0,
  of: 0,
  is_open: false,
  in_path: false,
  chosen: false,
  since: 0,
  state: "",
  waited: 0,
  sums: {},
  bars: [],
  nominated: [],
  marks: [],
  area: null,
  stage: null,
  event: null,
};
const NO_AREA = {waiting: [], running: [], leaving: [], events: []};

/**
 * The lanes of a recorded run, and the windows of them that the timeline asks for: the answers of the resource `timeline`
 * but for the path of a chosen pod, which the engine finds. `ats` are the times of all events by their seq, from 0 on.
 */
export class Lanes {
  constructor(recorded, ats) {
    this.ats = ats;
    const lanesOf = (lanes) =>
      new Map(Object.entries(lanes).map(([key, parts]) => [key, new Lane(parts, recorded, ats)]));
    this.pods = lanesOf(recorded.pods);
    this.nominated = lanesOf(recorded.nominated);
    this.claims = lanesOf(recorded.claims);
    this.operations = lanesOf(recorded.operations);
    this.nodes = lanesOf(recorded.nodes);
    this.groups = new Map(
      Object.entries(recorded.groups).map(([name, ids]) => {
        return [
          name,
          {
            ids,
            tally: Tally.of(
              ids.map((id) => this.pods.get(id)),
              ats,
            ),
          },
        ];
      }),
    );
    const none = {waiting: [], leaving: []};
    this.onNode = new Map(
      Object.entries(recorded.on_node).map(([node, [seqs, running]]) => {
        const zeros = seqs.map(() => 0);
        return [node, new Tally({...none, seqs, running, waiting: zeros, leaving: zeros}, ats)];
      }),
    );
    this.whole = Tally.of([...this.pods.values()], ats);
    this.kinds = recorded.kinds.map(([component, kind, isEvent, seqs]) => ({component, kind, isEvent, seqs}));
  }

  /**
   * The answer to a question of the timeline at its event `seq`, at `at`; `head` is {seq, at}. `chosen` is what is known of
   * the pod that is asked about, {rows, arrows, stages, own}, null for nothing: `own()` returns its events.
   *
   * @param {any} asked
   * @param {{seq: number, at: number, head: {seq: number, at: number}}} place
   * @param {any} [chosen]
   */
  timeline(asked, {seq, at, head}, chosen = null) {
    const start = Number(asked.from ?? 0);
    const end = Number(asked.to ?? Math.max(head.at, start + 1));
    const width = Number(asked.width);
    const view = new View(this, {asked, seq, at, start, end, width, chosen});
    const places = view.places();
    const first = Number(asked.first ?? 0);
    const rows = places.slice(first, first + Number(asked.rows)).map((place) => view.row(place));
    return {
      ...{seq, at, read: head.seq, read_at: head.at, head: head.seq, head_at: head.at},
      ...{start, end, width, total: places.length, first, rows, arrows: chosen?.arrows ?? []},
      overview: this.#overview(head.at),
      longest: asked.pod ? [] : this.#longest(seq, at),
    };
  }

  #overview(end) {
    const edges = edgesOf(this.ats, 0, Math.max(end, 1), BUCKETS);
    const counts = Object.entries(this.whole.most(edges)).map(([name, counted]) => [
      name,
      counted.length > 0 ? counted : new Array(BUCKETS).fill(0),
    ]);
    return {...Object.fromEntries(counts), events: edges.slice(1).map((edge, i) => edge - edges[i])};
  }

  #longest(seq, at) {
    return [...this.pods]
      .map(([pod, lane]) => ({pod, waited: lane.waited(seq, at)}))
      .filter(({waited}) => waited > 0)
      .sort((one, other) => other.waited - one.waited || (one.pod < other.pod ? -1 : 1))
      .slice(0, LONGEST);
  }
}

/** How many events came before the beginning of each part of a stretch of time, and to its end. */
function edgesOf(ats, start, end, parts) {
  const edges = [];
  for (let part = 0; part < parts; part += 1) {
    edges.push(Math.max(countBelow(ats, start + Math.floor(((end - start) * part) / parts)) - 1, 0));
  }
  return [...edges, Math.max(countUpTo(ats, end) - 1, 0)];
}

/** One question: which rows there are, and what is drawn of them. */
class View {
  constructor(lanes, {asked, seq, at, start, end, width, chosen}) {
    this.lanes = lanes;
    this.seq = seq;
    this.at = at;
    this.text = (asked.q ?? "").trim().toLowerCase();
    this.open = new Set((asked.open ?? "").split(",").filter(Boolean));
    this.leastWait = Number(asked.wait ?? 0);
    this.onlyEvents = String(asked.kubernetes ?? "0") === "1";
    this.byComponents = asked.by === "components";
    this.pod = asked.pod ? `pod/${asked.pod}` : "";
    this.chosen = chosen;
    this.pixels = edgesOf(lanes.ats, start, end, width);
    this.parts = edgesOf(lanes.ats, start, end, Math.max(Math.floor(width / PART), 1));
  }

  /** The rows from top to bottom, as {kind, key, count, of, lists}. */
  places() {
    if (this.byComponents) return this.#components();
    const {claims, operations, nodes} = this.lanes;
    return [
      ...(this.chosen && !this.text ? this.#path(this.chosen) : []),
      ...this.#pods(),
      ...this.#section("claims", "claim", claims, naturalOf),
      ...this.#section("operations", "operation", operations, byVolume),
      ...this.#section("nodes", "node", nodes, naturalOf),
    ];
  }

  /** What is drawn of a row. */
  row(place) {
    const {kind, key, count, of} = place;
    const name = key.slice(key.indexOf(":") + 1);
    if (kind === "group") return this.#group(place, name);
    if (kind === "component" || kind === "kind") return this.#counted(place, name);
    if (["section", "path", "stages"].includes(kind)) return {...PLAIN, key, kind, name, count, of};
    if (kind === "stage")
      return {...PLAIN, key, kind, name: place.stage.name, since: place.stage.start, stage: place.stage};
    if (kind === "event") return eventRow(place);
    const row = this.#lane(place);
    if (kind !== "node") return row;
    const tally = this.lanes.onNode.get(key);
    return {...row, area: tally ? this.#area(tally) : NO_AREA};
  }

  #isThere(lane) {
    return lane.seqs.length > 0 && lane.seqs[0] <= this.seq;
  }

  #matches(name) {
    return !this.text || name.toLowerCase().includes(this.text);
  }

  /** The rows of what the chosen pod waited for, and of the stages of its life. */
  #path({rows, stages, own}) {
    const attempts = stages.filter(({name}) => name === "attempt");
    const failed = attempts.filter(({decided, node}) => decided && !node).length;
    const inPath = [this.pod, ...rows].map((key) => ({...placeOf(kindOf(key), key), inPath: true}));
    const head = [placeOf("section", "section:path", rows.length), placeOf("path", "path"), ...inPath];
    const fold = placeOf("stages", "stages", attempts.length, failed);
    if (!this.open.has("stages")) return [...head, fold];
    return [...head, fold, ...stages.flatMap((stage) => this.#stage(stage, own))];
  }

  #stage(stage, own) {
    const key = `stage:${stage.first}`;
    const row = {...placeOf("stage", key), stage};
    if (!this.open.has(key)) return [row];
    const isIn = ({seq}) => seq >= stage.first && (stage.last === null || seq <= stage.last);
    const events = own().filter((event) => isIn(event) && (!this.onlyEvents || event.data?.event === true));
    return [row, ...events.map((event) => ({...placeOf("event", `event:${event.seq}`), event}))];
  }

  #pods() {
    const {pods} = this.lanes;
    const groups = this.#groups().map(([name, {ids}]) => [name, ids.filter((id) => this.#isMember(id))]);
    const total = groups.reduce((sum, [, members]) => sum + members.length, 0);
    const there = [...pods.values()].filter((lane) => this.#isThere(lane)).length;
    const head = total > 0 || !this.text ? [placeOf("section", "section:pods", total, there)] : [];
    const rows = groups.flatMap(([name, members]) => {
      const key = `group:${name}`;
      const own = members.length > 0 ? [placeOf("group", key, members.length)] : [];
      if (!this.open.has(key) && !this.text) return own;
      return [...own, ...sortedBy(members, naturalOf).map((id) => placeOf("pod", id))];
    });
    return [...head, ...rows];
  }

  /** The workloads; those whose pods waited longest come first. */
  #groups() {
    const waits = new Map([...this.lanes.groups].map(([name, {tally}]) => [name, tally.waited(this.seq, this.at)]));
    return [...this.lanes.groups].sort(
      ([one], [other]) => waits.get(other) - waits.get(one) || (one < other ? -1 : one > other ? 1 : 0),
    );
  }

  #isMember(id) {
    const lane = this.lanes.pods.get(id);
    const isNamed = this.#matches(id.slice("pod/".length)) && this.#isThere(lane);
    return isNamed && (this.leastWait === 0 || lane.waited(this.seq, this.at) >= this.leastWait);
  }

  #section(name, kind, lanes, order) {
    const known = [...lanes].filter(([, lane]) => this.#isThere(lane)).map(([key]) => key);
    const shown = known.filter((key) => this.#matches(key.slice(key.indexOf("/") + 1)));
    if (shown.length === 0) return [];
    const head = placeOf("section", `section:${name}`, shown.length, known.length);
    return [head, ...sortedBy(shown, order).map((key) => placeOf(kind, key))];
  }

  #components() {
    const kinds = new Map();
    const inOrder = sortedBy(this.lanes.kinds, ({component, kind, isEvent}) => [component, kind, isEvent ? 1 : 0]);
    for (const {component, kind, isEvent, seqs} of inOrder) {
      if ((!isEvent && this.onlyEvents) || seqs[0] > this.seq) continue;
      const counts = kinds.get(component) ?? new Map();
      kinds.set(component, counts);
      counts.set(kind, (counts.get(kind) ?? 0) + countUpTo(seqs, this.seq));
    }
    return [...kinds].flatMap(([component, counts]) => this.#component(component, counts));
  }

  #component(component, counts) {
    const named = sortedBy([...counts.keys()], (kind) => [-counts.get(kind), kind]);
    const shown = named.filter((kind) => this.#matches(component) || this.#matches(kind));
    if (shown.length === 0) return [];
    const key = `component:${component}`;
    const listsOf = (wanted) =>
      this.lanes.kinds
        .filter((each) => each.component === component && wanted.includes(each.kind))
        .filter(({isEvent}) => isEvent || !this.onlyEvents)
        .map(({seqs}) => seqs);
    const own = {...placeOf("component", key, shown.length, named.length), lists: listsOf(shown)};
    if (!this.open.has(key) && !this.text) return [own];
    const rows = shown.map((kind) => ({...placeOf("kind", `kind:${component}/${kind}`), lists: listsOf([kind])}));
    return [own, ...rows];
  }

  #lane({kind, key, inPath = false}) {
    const {lanes, seq, at} = this;
    const tables = {pod: lanes.pods, claim: lanes.claims, node: lanes.nodes, operation: lanes.operations};
    const lane = tables[kind].get(key);
    const promised = lanes.nominated.get(key);
    return {
      ...PLAIN,
      key,
      kind,
      name: key.slice(key.indexOf("/") + 1),
      in_path: inPath,
      chosen: this.pod === key,
      since: lanes.ats[lane.seqs[0]],
      state: lane.state(seq),
      waited: lane.waited(seq, at),
      sums: lane.sums(seq, at),
      bars: lane.bars(this.pixels),
      marks: this.onlyEvents ? this.#marks(lane.events) : [],
      nominated: promised ? promised.bars(this.pixels) : [],
    };
  }

  #group({key, kind, count}, name) {
    const {tally} = this.lanes.groups.get(name);
    const since = this.lanes.ats[tally.seqs[0]];
    const waited = tally.waited(this.seq, this.at);
    return {...PLAIN, key, kind, name, count, since, waited, area: this.#area(tally)};
  }

  #counted({key, kind, lists}, name) {
    const count = lists.reduce((sum, seqs) => sum + countUpTo(seqs, this.seq), 0);
    const since = this.lanes.ats[Math.min(...lists.map((seqs) => seqs[0]))];
    const shown = kind === "kind" ? name.slice(name.indexOf("/") + 1) : name;
    return {...PLAIN, key, kind, name: shown, count, since, area: {...NO_AREA, events: runsOf(this.#events(lists))}};
  }

  #area(tally) {
    const most = Object.entries(tally.most(this.parts)).map(([name, counts]) => [name, runsOf(counts)]);
    return {...NO_AREA, ...Object.fromEntries(most)};
  }

  #events(lists) {
    const counts = new Array(this.parts.length - 1).fill(0);
    for (const seqs of lists) {
      const places = this.parts.map((edge) => countUpTo(seqs, edge));
      for (let i = 0; i < counts.length; i += 1) counts[i] += places[i + 1] - places[i];
    }
    return counts;
  }

  /** One mark for each pixel in which there is an event. */
  #marks(seqs) {
    const found = [];
    let i = countUpTo(seqs, this.pixels[0]);
    const stop = countUpTo(seqs, this.pixels.at(-1));
    while (i < stop) {
      const edge = this.pixels[countBelow(this.pixels, seqs[i])];
      const after = Math.min(countUpTo(seqs, edge), stop);
      found.push({at: this.lanes.ats[seqs[i]], seq: seqs[i], events: after - i});
      i = after;
    }
    return found;
  }
}

/** The kind of the row of an entity or an operation. */
function kindOf(key) {
  const kind = key.slice(0, key.indexOf("/"));
  return ["pod", "claim", "node"].includes(kind) ? kind : "operation";
}

function eventRow({key, kind, event}) {
  const {seq, at, object, component, message, by = ""} = event;
  const told = {seq, at, kind: event.kind, object, component, message, kubernetes: event.data?.event === true, by};
  return {...PLAIN, key, kind, name: event.kind, since: at, event: told};
}

function placeOf(kind, key, count = 0, of = 0) {
  return {kind, key, count, of};
}

/** Counts as runs: a length, its value, the next length, …; nothing where all are 0. */
function runsOf(counts) {
  if (!counts.some(Boolean)) return [];
  const runs = [];
  for (const value of counts) {
    if (runs.length > 0 && runs.at(-1) === value) runs[runs.length - 2] += 1;
    else runs.push(1, value);
  }
  return runs;
}

/** The natural order of names: web-2 before web-10. */
function naturalOf(key) {
  return key.split(/(\d+)/).flatMap((part) => (/^\d/.test(part) ? [Number(part), ""] : [-1, part]));
}

/** The order of operations: by volume, then by node, attach before mount. */
function byVolume(key) {
  const [kind, node, ...volume] = key.split("/");
  return [...naturalOf(volume.join("/")), END, ...naturalOf(node), END, kind];
}

/** Less than any part of a name, so that a name comes before those that go on after it. */
const END = -2;

function sortedBy(members, order) {
  const keyed = members.map((member) => [member, order(member)]);
  keyed.sort(([, one], [, other]) => compared(one, other));
  return keyed.map(([member]) => member);
}

function compared(one, other) {
  for (let i = 0; i < Math.min(one.length, other.length); i += 1) {
    if (one[i] < other[i]) return -1;
    if (one[i] > other[i]) return 1;
  }
  return one.length - other.length;
}
