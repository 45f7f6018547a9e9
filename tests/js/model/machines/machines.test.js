import assert from "node:assert/strict";
import {test} from "node:test";

import {MACHINES} from "../../../../static/js/model/machines/diagrams.js";
import {
  isPossible,
  highlightsOf,
  movesOf,
  stateNow,
  titleOf,
  volumeLook,
} from "../../../../static/js/model/machines/machines.js";
import {nameOf, objectOf, objectsOf} from "../../../../static/js/model/machines/objects.js";
import {RunModel} from "../../../../static/js/model/run/run_model.js";
import {Tally} from "../../../../static/js/model/run/tallies.js";
import {allChains} from "../volumes/all_chains.js";
import {CLAIM_LOOK} from "../../../../static/js/model/volumes/claims.js";

const [QUEUE, CACHE, VOLUME, CLAIM] = MACHINES;
const POD = "pod/shop/web-1";

/** Events of an object, one second after the other: each a patch on what is shown of it. */
function eventsAbout(id, ...patches) {
  return patches.map((patch, i) => ({
    seq: i + 1,
    at: i * 1e9,
    kind: `Fact${i + 1}`,
    message: "",
    changes: {[id]: patch},
  }));
}

const ways = (machine, id, events, seq = 99) => movesOf(machine, id, events, seq).map(({from, to}) => `${from}>${to}`);

const STORY = eventsAbout(
  POD,
  {phase: "Pending"},
  {queue: "active"},
  {queue: "in_flight"},
  {queue: "unschedulable"},
  {blocker: {}},
  {queue: "backoff"},
  {queue: "in_flight"},
  {queue: null, cache: "assumed", assumed: "n1"},
  {node: "n1"},
  {cache: "added", assumed: null},
  {phase: "Running"},
  null,
);

test("a pod's moves are its state changes", () => {
  assert.deepEqual(ways(QUEUE, POD, STORY), [
    ">active",
    "active>in_flight",
    "in_flight>unschedulable",
    "unschedulable>backoff",
    "backoff>in_flight",
    "in_flight>assumed",
    "assumed>",
  ]);
  assert.deepEqual(ways(CACHE, POD, STORY), [">initial", "initial>assumed", "assumed>added", "added>deleted"]);
});

test("later events are ignored", () => {
  assert.deepEqual(ways(QUEUE, POD, STORY, 3), [">active", "active>in_flight"]);
});

test("a finished pod is no longer counted", () => {
  const events = eventsAbout(POD, {cache: "added", node: "n1"}, {phase: "Succeeded"});
  assert.deepEqual(ways(CACHE, POD, events), [">added", "added>deleted"]);
});

test("an expired assumption differs from a forgotten one", () => {
  const events = eventsAbout(POD, {cache: "assumed"}, {cache: null});
  assert.deepEqual(ways(CACHE, POD, events), [">assumed", "assumed>initial"]);
  events[1].kind = "AssumptionExpired";
  assert.deepEqual(ways(CACHE, POD, events), [">assumed", "assumed>expired"]);
});

test("either side of a binding can be half-bound", () => {
  const volume = "volume/pv-1";
  const claim = "claim/shop/data";
  assert.deepEqual(
    ways(
      VOLUME,
      volume,
      eventsAbout(
        volume,
        {phase: "Pending"},
        {phase: "Available"},
        {claim: "shop/data"},
        {phase: "Bound"},
        {phase: "Released"},
        null,
      ),
    ),
    [">pending", "pending>available", "available>half", "half>bound", "bound>released", "released>"],
  );
  assert.deepEqual(
    ways(CLAIM, claim, eventsAbout(claim, {phase: "Pending"}, {volume: "pv-1"}, {phase: "Bound"}, {phase: "Lost"})),
    [">pending", "pending>half", "half>bound", "bound>lost"],
  );
});

test("edges count their moves and mark the last", () => {
  const light = highlightsOf(QUEUE, movesOf(QUEUE, POD, STORY, 7));
  const times = (move) => light.taken.get(QUEUE.edges.find(({moves}) => moves.includes(move)));
  assert.equal(times("active>in_flight"), 1);
  assert.equal(times("backoff>in_flight"), 1);
  assert.equal(times("in_flight>assumed"), undefined);
  assert.deepEqual(light.last.moves, ["backoff>in_flight"]);
  assert.equal(light.here, "in_flight");
  assert.ok(light.visited.has("unschedulable"));
});

test("a move without an edge highlights none", () => {
  const light = highlightsOf(CLAIM, [{from: "lost", to: "pending"}]);
  assert.equal(light.last, null);
  assert.equal(light.here, "pending");
});

test("a profile lacks states of other versions", () => {
  const expired = CACHE.states.find(({key}) => key === "expired");
  const gated = QUEUE.states.find(({key}) => key === "gated");
  assert.deepEqual(
    [["expiry"], [], ["gates", "expiry"], ["gates", "early_pop"]].map((has) => isPossible(expired, has)),
    [true, false, true, false],
  );
  assert.deepEqual(
    [["expiry"], ["gates"]].map((has) => isPossible(gated, has)),
    [false, true],
  );
});

test("every edge joins two states, no move twice", () => {
  for (const machine of MACHINES) {
    const keys = new Set(["", ...machine.states.map(({key}) => key)]);
    const moves = machine.edges.flatMap((edge) => edge.moves);
    assert.equal(new Set(moves).size, moves.length, machine.title);
    for (const move of moves)
      assert.ok(
        move.split(">").every((key) => keys.has(key)),
        `${machine.title}: ${move}`,
      );
    for (const key of keys) assert.notEqual(titleOf(machine, key), key);
  }
});

test("a tally follows objects from state to state", () => {
  const tally = new Tally(QUEUE);
  tally.update("pod/shop/web", undefined, {queue: "active"});
  tally.update("pod/shop/web", undefined, {queue: "active"});
  tally.update("pod/shop/web", {queue: "active"}, {queue: "in_flight"});
  assert.deepEqual([tally.count("active"), tally.count("in_flight"), tally.count("backoff"), tally.held], [1, 1, 0, 2]);
  tally.update("pod/shop/web", {queue: "in_flight"}, {cache: "added"});
  tally.update("pod/shop/web", {queue: "active"}, undefined);
  assert.equal(tally.held, 0);
});

test("pods outside the cache are counted apart", () => {
  const tally = new Tally(CACHE);
  tally.update("pod/shop/web", undefined, {});
  tally.update("pod/shop/web", undefined, {cache: "assumed"});
  assert.deepEqual([tally.count("initial"), tally.held], [1, 1]);
});

const DISK = "kubernetes.io/csi/disk.csi.example.com^d1";
const OPERATION = MACHINES.find(({key}) => key === "operation");

test("a volume operation moves through all its states", () => {
  const eventsOf = (...patches) =>
    patches.map(([volumes, attachments], i) => ({
      seq: i + 1,
      at: i,
      kind: "Told",
      message: "",
      component: "kubelet",
      changes: {
        "node/n1": {
          ...(volumes && {volumes: {[DISK]: volumes}}),
          ...(attachments && {attachments: {[DISK]: attachments}}),
        },
      },
    }));
  const events = eventsOf(
    [null, {name: "d1", operation: {name: "volume_attach", started: 0}}],
    [null, {attached: true, operation: null}],
    [{name: "d1", attached: true, operations: {"*": {name: "volume_mount", started: 2}}}],
    [{operations: {"*": {started: null, failures: 1, failed: 3, retry_at: 9}}}],
    [{operations: {"*": {started: 9, failed: null, retry_at: null}}}],
    [{device: "DeviceGloballyMounted"}],
    [{operations: null, mounts: {"shop/web": "VolumeMounted"}}],
  );
  events.push({seq: 8, at: 8, kind: "NodeDeleted", message: "", component: "api", changes: {"node/n1": null}});
  const moves = movesOf(OPERATION, `node/n1#${DISK}`, events, 8);
  assert.deepEqual(
    moves.map(({from, to}) => `${from}>${to}`),
    [
      ">detached",
      "detached>attached",
      "attached>backoff",
      "backoff>attached",
      "attached>device",
      "device>mounted",
      "mounted>detached",
    ],
  );
  const {taken} = highlightsOf(OPERATION, moves.slice(0, -1));
  assert.equal(taken.size, 6);
});

test("volume operations of all nodes are counted", () => {
  const tally = new Tally(OPERATION);
  const before = {attachments: {[DISK]: {name: "d1"}}};
  const after = {
    attachments: {[DISK]: {name: "d1", attached: true}},
    volumes: {e: {name: "tmp", attached: true, mounts: {"shop/web": "VolumeMounted"}}},
  };
  tally.update("node/n1", undefined, before);
  assert.deepEqual([tally.count("detached"), tally.held], [1, 0]);
  tally.update("node/n1", before, after);
  assert.deepEqual(
    [tally.count("detached"), tally.count("attached"), tally.count("mounted"), tally.held],
    [0, 1, 1, 2],
  );
  const [[id, object]] = objectsOf(OPERATION, "node/n1", before);
  assert.equal(nameOf(id, object), "d1 on n1");
  assert.equal(objectOf(OPERATION, id, {}), null);
  assert.equal(nameOf("pod/shop/web", {}), "shop/web");
});

/** Claims and volumes in every combination of what each says of the other. */
function bindings() {
  const state = {};
  let number = 0;
  for (const [phase, names] of [
    ["Pending", false],
    ["Pending", true],
    ["Bound", true],
    ["Lost", true],
  ]) {
    for (const [volumePhase, named] of [
      ["Available", false],
      ["Available", true],
      ["Bound", true],
      [null, false],
    ]) {
      number += 1;
      state[`claim/shop/c${number}`] = {phase, ...(names && {volume: `pv${number}`})};
      if (volumePhase) state[`volume/pv${number}`] = {phase: volumePhase, ...(named && {claim: `shop/c${number}`})};
    }
  }
  return state;
}

test("machines count claims as the Volumes page does", () => {
  const model = new RunModel();
  model.reset({seq: 1, at: 1, state: bindings(), events: []});
  const {claims, entities, tallies} = model;
  const shown = new Map();
  for (const chain of allChains(model)) {
    if (chain.claimId) {
      const look = CLAIM_LOOK[claims.state(chain.claimId, entities.get(chain.claimId), entities)].text;
      shown.set(look, (shown.get(look) ?? 0) + 1);
    }
    const volume = entities.get(chain.volumeId);
    const isHalf = ["left", "right", "both"].includes(chain.link) || (volume && volumeLook(volume).key === "half");
    if (volume) assert.equal(stateNow(VOLUME, chain.volumeId, volume, model) === "half", isHalf, chain.key);
  }
  for (const {key, title} of CLAIM.states) assert.equal(tallies.get("claim").count(key), shown.get(title) ?? 0, title);
  assert.equal(tallies.get("claim").held, 16);
});

test("both pages show a reserved claim as half-bound", () => {
  const model = new RunModel();
  model.reset({
    seq: 1,
    at: 1,
    events: [],
    state: {"claim/shop/a": {phase: "Pending"}, "volume/pv": {phase: "Available"}},
  });
  assert.equal(model.tallies.get("claim").count("pending"), 1);
  model.apply({first: 2, last: 2, at: 2, changes: {"volume/pv": {claim: "shop/a"}}, events: []});
  assert.equal(model.tallies.get("claim").count("pending"), 0);
  assert.equal(model.tallies.get("claim").count("half"), 1);
  assert.equal(stateNow(CLAIM, "claim/shop/a", model.entities.get("claim/shop/a"), model), "half");
});

test("a state caused by another object is highlighted", () => {
  const moves = movesOf(CLAIM, "claim/shop/a", eventsAbout("claim/shop/a", {phase: "Pending"}), 9);
  assert.equal(highlightsOf(CLAIM, moves).here, "pending");
  assert.equal(highlightsOf(CLAIM, moves, "half").here, "half");
});
