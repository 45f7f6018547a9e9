/** A scheduling cycle as the server tells it: pod shop/web-0 is bound to n1, one of two nodes that tie. */

const NAMES = [
  ...["pop", "snapshot", "order", "pre_filter", "filter", "post_filter", "score", "host"],
  ...["assume", "reserve", "permit", "pre_bind", "bind", "post_bind"],
];
const BEGAN = 4_000_000_000;
const ASSUMED = BEGAN + 160_000_000;
const BOUND = ASSUMED + 5_000_000;

/** The phases, of which `states` names those that are not done. */
export function phasesOf(states = {}) {
  return NAMES.map((name, place) => {
    const state = states[name] ?? "done";
    const late = place > 7;
    const at = place === 12 ? BOUND : late ? ASSUMED : BEGAN;
    const seq = name === "pop" ? 9 : name === "bind" ? 12 : late ? 11 : 10;
    const when = state === "done" ? {at, seq} : {at: null, seq: null};
    return {name, state, ...when, file: `pkg/scheduler/${name}.go`, function: name, callers: []};
  });
}

const IDLE = {
  post_filter: "not reached",
  reserve: "nothing to do",
  permit: "nothing to do",
  pre_bind: "nothing to do",
  post_bind: "nothing to do",
};

/** One step that was told. */
export function told(kind, seq, at = BEGAN) {
  return {kind, seq, at};
}

const STEPS = [
  told("Popped", 9),
  told("Moved", 9),
  told("SnapshotTaken", 10),
  told("NodesOrdered", 10),
  told("PreFilterAnswer", 10),
  told("Filtered", 10),
  told("Scored", 10),
  told("HostChosen", 10),
  told("Assumed", 11, ASSUMED),
  told("Moved", 11, ASSUMED),
  told("Bound", 12, BOUND),
  told("BindingFinished", 12, BOUND),
];

/** The cycle of a pod that is bound, with *changes*. */
export function boundCycle(changes = {}) {
  return {
    run: 1,
    seq: 10,
    cycle: 4,
    version: "v1.34",
    pod: "shop/web-0",
    phases: phasesOf(IDLE),
    steps: STEPS,
    pop: {
      ...{
        scheduling_cycle: 4,
        move_request_cycle: 3,
        attempt: 1,
        event: "Pop",
        priority: 0,
        timestamp: BEGAN - 1_000_000,
      },
      ...{
        backed_off_until: null,
        judged_by: "in-flight events",
        active: [{pod: "shop/web-1"}],
        backoff: [],
        unschedulable: [],
      },
      in_flight: ["shop/web-0"],
    },
    snapshot: {
      taken: {
        scheduler: "default-scheduler",
        before: 5,
        after: 7,
        copied: [{node: "n1", generation: 7, pods: 1}],
        stopped_at: null,
        kept: 2,
      },
      changes: [],
    },
    order: {
      tree: {zones: [{zone: "", nodes: ["n1", "n2", "n3"]}]},
      searched: {order: ["n1", "n2", "n3"], start: 1, wanted: 3},
    },
    pre_filter: [{plugin: "NodePorts", way: "skip", code: "Skip", reasons: [], nodes: null, keeps: []}],
    filter: {searches: [SEARCH], with_nominated: []},
    post_filter: null,
    score: SCORE,
    host: {node: "n2", total: 330, way: "random", tied: ["n1", "n2"], drawn: 1},
    assume: {
      assumed: {node: "n2", before: {node: "n2", generation: 3, pods: 1}, after: {node: "n2", generation: 8, pods: 2}},
      finished: {node: "n2", deadline: null},
      forgotten: null,
    },
    points: [],
    volumes: null,
    rounds: [],
    bind: {node: "n2", code: "Success", reasons: []},
    queue: {
      before: [{event: "PodAdd", place_from: "", place: "active", flushed: false}],
      considered: [],
      requeued: null,
      after: [{event: "Done", place_from: "in_flight", place: "", flushed: false}],
    },
    ...changes,
  };
}

const SHORT = {requested: 1000, used: 3500, allocatable: 4000, short: 500};
export const SEARCH = {
  search: "all nodes",
  asked: ["NodeName", "NodeResourcesFit"],
  skipped: ["NodePorts"],
  refusals: [{plugin: "NodeResourcesFit", code: "Unschedulable", reasons: ["Insufficient cpu"]}],
  nodes: [
    {node: "n2", called: 2, refusal: -1, text: "", short: null, unit: "", numbers: null},
    {node: "n3", called: 2, refusal: 0, text: "cpu 500m short", short: 500, unit: "cpu", numbers: {cpu: SHORT}},
    {node: "n1", called: 2, refusal: -1, text: "", short: null, unit: "", numbers: null},
  ],
  ...{calls: 6, calls_at_most: 6, absent: 0, unseen: 0},
};

const CPU = [
  {name: "cpu used with the pod", value: 3000, unit: "m"},
  {name: "cpu allocatable", value: 4000, unit: "m"},
];

function fit(weighted) {
  const shown = {terms: [...CPU, {name: "cpu score", value: 25, unit: ""}], raw: weighted};
  return {raw: weighted, normalized: weighted, weighted, shown};
}

const SAME = {raw: 0, normalized: 100, weighted: 300, shown: {terms: [], raw: 0}};
const SCORE = {
  is_compared: true,
  pre_score: [],
  plugins: [
    {plugin: "TaintToleration", weight: 3, lowest: 0, highest: 0, normalizes: "100 − raw × 100 ÷ highest"},
    {plugin: "NodeResourcesFit", weight: 1, lowest: 30, highest: 30, normalizes: ""},
  ],
  not_scored: ["NodeAffinity"],
  nodes: [
    {node: "n1", total: 330, scores: [SAME, fit(30)]},
    {node: "n2", total: 330, scores: [SAME, fit(30)]},
    {node: "n4", total: 310, scores: [SAME, fit(10)]},
  ],
};

const BACKOFF = {
  failures: 2,
  initial: 1e9,
  maximum: 10e9,
  duration: 2e9,
  since: BEGAN,
  window: 1e9,
  ends: 6e9,
  over_at: 7e9,
};

/** The cycle of a pod that fits on no node and has gone back. */
export function failedCycle(changes = {}) {
  const nodes = [SEARCH.nodes[1]];
  const states = Object.fromEntries(NAMES.slice(5).map((name) => [name, "not reached"]));
  return boundCycle({
    phases: phasesOf({...states, post_filter: "done"}),
    steps: [...STEPS.slice(0, 6), told("PostFiltered", 10), told("Moved", 11, ASSUMED), told("Requeued", 11, ASSUMED)],
    filter: {searches: [{...SEARCH, nodes}], with_nominated: []},
    post_filter: {
      ordered: null,
      dry_runs: [],
      outcome: {node: "", message: "", candidates: [], rungs: [], hopeless: []},
    },
    ...{score: null, host: null, assume: null, bind: null},
    queue: {
      before: [],
      considered: [],
      requeued: {
        place: "unschedulable",
        judged_by: "in-flight events",
        missed: [],
        move_request_cycle: 3,
        pod_scheduling_cycle: 4,
        backoff: BACKOFF,
      },
      after: [{event: "ScheduleAttemptFailure", place_from: "in_flight", place: "unschedulable", flushed: false}],
    },
    ...changes,
  });
}
