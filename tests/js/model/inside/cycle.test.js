import assert from "node:assert/strict";
import {test} from "node:test";

import {hasEnded, placeOf, spanOf, stepFrom, stepsOf} from "../../../../static/js/model/inside/cycle.js";
import {bindingMoments, spentIn} from "../../../../static/js/model/inside/cycle_binding.js";
import {groupsOf, rowsOf, whyOf} from "../../../../static/js/model/inside/cycle_filter.js";
import {heldAfter, nextStart} from "../../../../static/js/model/inside/cycle_memory.js";
import {barsOf, linesOf, scoresOf} from "../../../../static/js/model/inside/cycle_score.js";
import {
  backoffWords,
  outcomeOf,
  requeuedWords,
  sentenceOf,
  zoneName,
} from "../../../../static/js/model/inside/cycle_words.js";
import {SEARCH, boundCycle, failedCycle, phasesOf, told} from "./cycle_answer.js";

const idsOf = (steps) => steps.map(({id}) => id);
const stateOf = (steps, id) => steps.find((step) => step.id === id).state;
const indexOf = (steps, id) => steps.findIndex((step) => step.id === id);

test("a bound pod passes twelve steps", () => {
  const steps = stepsOf(boundCycle());
  assert.equal(steps.length, 12);
  assert.equal(stateOf(steps, "postfilter"), "off");
  assert.equal(stateOf(steps, "permit"), "idle");
  assert.equal(stateOf(steps, "bind"), "done");
  assert.deepEqual(
    steps.filter(({band}) => band === "binding").map(({id}) => id),
    ["prebind", "bind"],
  );
});

test("a failed cycle ends at PostFilter", () => {
  const steps = stepsOf(failedCycle());
  assert.deepEqual(idsOf(steps).slice(-2), ["filter", "postfilter"]);
  assert.deepEqual(
    steps.filter(({isFailure}) => isFailure).map(({id}) => id),
    ["postfilter"],
  );
});

test("a refusal at PreFilter fails there", () => {
  const states = Object.fromEntries(
    phasesOf()
      .slice(4)
      .map(({name}) => [name, "not reached"]),
  );
  const steps = stepsOf(failedCycle({phases: phasesOf(states), filter: null, post_filter: null}));
  assert.equal(steps.find(({isFailure}) => isFailure).id, "prefilter");
  assert.equal(stateOf(steps, "filter"), "off");
});

test("later steps of a cycle in progress are ahead", () => {
  const states = {
    post_filter: "not reached",
    permit: "not reached",
    pre_bind: "done",
    bind: "not reached",
    post_bind: "not reached",
  };
  const queue = {before: [], considered: [], requeued: null, after: []};
  const answer = boundCycle({phases: phasesOf(states), bind: null, queue});
  const steps = stepsOf(answer);
  assert.equal(hasEnded(answer), false);
  assert.equal(stateOf(steps, "bind"), "ahead");
  assert.equal(stateOf(steps, "permit"), "idle");
  assert.equal(stepFrom(steps, indexOf(steps, "prebind"), 1), indexOf(steps, "prebind"));
  assert.equal(placeOf(steps, "bind", null), indexOf(steps, "prebind"));
});

test("v1.11 has a BindQueue and no PreBind", () => {
  const queued = {
    name: "bind_queue",
    state: "done",
    at: 1,
    seq: 11,
    file: "scheduler.go",
    function: "bindVolumesWorker",
  };
  const steps = stepsOf(boundCycle({version: "v1.11", phases: [...phasesOf(), queued]}));
  assert.deepEqual(idsOf(steps).slice(-3), ["bindqueue", "assume", "bind"]);
});

test("the named step is shown unless the play head is elsewhere", () => {
  const steps = stepsOf(boundCycle());
  assert.equal(steps[placeOf(steps, "score", 10)].id, "score");
  assert.equal(steps[placeOf(steps, "score", null)].id, "score");
  assert.equal(steps[placeOf(steps, "score", 9)].id, "pop");
  assert.equal(steps[placeOf(steps, "score", 11)].id, "assume");
  assert.equal(steps[placeOf(steps, "", 500)].id, "bind");
});

test("a band lasts as long as the engine says", () => {
  const {began, ended} = spanOf(boundCycle(), "scheduling");
  assert.equal(ended - began, 160_000_000);
});

test("memory shows what a step changed", () => {
  const answer = boundCycle();
  const steps = stepsOf(answer);
  const rowsAt = (id) =>
    Object.fromEntries(
      heldAfter(answer, steps, indexOf(steps, id)).flatMap(([, rows]) => rows.map((row) => [row.what, row])),
    );
  assert.deepEqual(rowsAt("pop").activeQ, {what: "activeQ", before: "2", after: "1", isChanged: true});
  assert.equal(rowsAt("pop")["in flight"].after, "web-0");
  assert.equal(rowsAt("assume")["in flight"].after, "–");
  assert.deepEqual(rowsAt("assume").assumedPods, {what: "assumedPods", before: "–", after: "web-0", isChanged: true});
  assert.equal(rowsAt("bind").assumedPods.isChanged, false);
  assert.equal(rowsAt("bind")["assumption ends"].after, "never");
  assert.deepEqual(Object.keys(rowsAt("pop")), Object.keys(rowsAt("bind")));
});

test("a failed pod is in a queue after its last step", () => {
  const answer = failedCycle();
  const steps = stepsOf(answer);
  const [[, queue]] = heldAfter(answer, steps, steps.length - 1);
  assert.deepEqual(
    queue.find(({what}) => what === "unschedulable"),
    {what: "unschedulable", before: "0", after: "1", isChanged: true},
  );
});

test("the next search begins where this one stopped", () => {
  assert.equal(nextStart(boundCycle()), 1);
  const search = {...SEARCH, nodes: SEARCH.nodes.slice(0, 1)};
  assert.equal(nextStart(boundCycle({filter: {searches: [search]}})), 2);
  assert.equal(nextStart(boundCycle({filter: {searches: [{...SEARCH, absent: 1}]}})), null);
});

test("a refusal shows its arithmetic", () => {
  const row = rowsOf(SEARCH).find(({refusal}) => refusal !== null);
  assert.deepEqual(whyOf(row), ["4000 − 3500 − 1000:", "cpu 500m short"]);
  assert.deepEqual(
    groupsOf(SEARCH).map(({plugin, many, example}) => [plugin, many, example.node]),
    [["NodeResourcesFit", 1, "n3"]],
  );
});

test("the chosen node comes first among equals", () => {
  const scores = scoresOf(boundCycle());
  assert.deepEqual(
    scores.nodes.map(({node, isBest}) => [node, isBest]),
    [
      ["n2", true],
      ["n1", true],
      ["n4", false],
    ],
  );
  assert.equal(scores.same, 300);
});

test("what is the same for all does not hide the rest", () => {
  const bars = barsOf(scoresOf(boundCycle()));
  assert.equal(bars.isCut, true);
  const [first, , last] = bars.rows.map((parts) => parts.reduce((sum, {share}) => sum + share, 0));
  assert.equal(first, 1);
  assert.ok(last < 0.9);
});

test("terms lead to the weighted score", () => {
  const {nodes, plugins} = scoresOf(boundCycle());
  assert.deepEqual(linesOf(nodes[0].scores[0], plugins[0]), [
    ["raw", "0"],
    ["normalised 100, × 3", "300"],
  ]);
  assert.deepEqual(linesOf(nodes[0].scores[1], plugins[1]), [
    ["cpu 3000m / 4000m", "25"],
    ["30 × 1", "30"],
  ]);
});

test("each step says what came out", () => {
  const answer = boundCycle();
  const outcomes = Object.fromEntries(stepsOf(answer).map((step) => [step.id, outcomeOf(step, answer)]));
  assert.equal(outcomes.snapshot, "1 of 3 nodes copied");
  assert.equal(outcomes.filter, "2 of 3 nodes fit");
  assert.equal(outcomes.score, "330 · 330 · 310");
  assert.equal(outcomes.host, "n2, one of 2 tied");
  assert.equal(outcomes.postfilter, "not reached");
});

test("the sentence of a failed cycle is what blocks it", () => {
  const answer = failedCycle();
  const filter = stepsOf(answer).find(({id}) => id === "filter");
  assert.equal(sentenceOf(filter, answer), "None of 1 node fits: 1 × Insufficient cpu.");
});

test("a place is explained by counters only where they decide", () => {
  const counters = {judged_by: "moveRequestCycle", missed: [], pod_scheduling_cycle: 4};
  assert.equal(
    requeuedWords({...counters, place: "unschedulable", move_request_cycle: 3}),
    "It goes to unschedulable pods: moveRequestCycle 3 < schedulingCycle 4.",
  );
  assert.equal(requeuedWords({...counters, place: "backoff", move_request_cycle: 3}), "It goes to backoffQ.");
});

test("a backoff shows its arithmetic", () => {
  const words = backoffWords(failedCycle().queue.requeued.backoff);
  assert.equal(
    words,
    "Backoff: 1.00 s, doubled 1 time, at most 10.00 s: 2.00 s, until 6.000 s. It may be tried from 7.000 s on.",
  );
});

test("writes of others stand among the looks", () => {
  const caches = [{kind: "volume", name: "ssd", assumed: true, latest_version: "2", informer_version: "2"}];
  const volumes = {
    assumed: [{node: "n2", all_bound: false, bind: [], provision: [], caches}],
    written: [{written: [{kind: "volume", name: "ssd", version: "3"}], deadline: 9, error: ""}],
    looks: [{is_bound: true, error: "", caches}],
  };
  const steps = [
    told("VolumesAssumed", 11, 1),
    told("VolumesWritten", 11, 1),
    told("VolumesLooked", 12, 3),
    told("Bound", 13, 4),
  ];
  const others = [
    {at: 2, component: "pv-controller", kind: "VolumeBound", object: "volume/ssd"},
    {at: 2, component: "pv-controller", kind: "VolumeBound", object: "volume/other"},
  ];
  const moments = bindingMoments(boundCycle({volumes, steps}), others);
  assert.deepEqual(
    moments.map(({at, lane, text}) => [at, lane, text]),
    [
      [1, "scheduler", "writes"],
      [1, "API server", "ssd rv 3"],
      [2, "PV controller", "VolumeBound"],
      [3, "scheduler", "looks: bound, rv 2"],
      [4, "API server", "binding"],
    ],
  );
});

test("the time from queued to bound is spent in parts", () => {
  assert.deepEqual(
    spentIn(boundCycle()).map(({title, ns}) => [title, ns]),
    [
      ["queued", 1_000_000],
      ["cycle", 160_000_000],
      ["Bind", 5_000_000],
    ],
  );
});

test("a zone is named without its region", () => {
  assert.equal(zoneName("eu-1:\u0000:eu-1a"), "eu-1a");
  assert.equal(zoneName(""), "");
});
