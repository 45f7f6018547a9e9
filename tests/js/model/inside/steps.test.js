import assert from "node:assert/strict";
import {test} from "node:test";

import {bandsOf, memoryOf, placeOf, versionsOf, writesUpTo} from "../../../../static/js/model/inside/steps.js";
import {linesOf, readWords} from "../../../../static/js/model/inside/tree.js";
import {ladderOf, ticksOf} from "../../../../static/js/model/inside/tries.js";
import {wordsOf} from "../../../../static/js/model/inside/words.js";

const CLAIM = "claim/shop/data";
const SECOND = 1e9;

function known(entity, api, informer, more = {}) {
  return {
    entity,
    api_server: api,
    informer,
    cache: informer,
    assumed: informer,
    over: "",
    phase: "",
    names: "",
    ...more,
  };
}

function step(id, more = {}) {
  const seq = Number(id.split(".", 1)[0]);
  const plain = {id, seq, at: seq * SECOND, part: "pv", entity: CLAIM, function: "syncClaim", outcome: "", says: {}};
  return {
    ...plain,
    stack: [],
    taken: [],
    writes: [],
    error: "",
    repeated: 0,
    known: [],
    memory: [],
    tick: null,
    ...more,
  };
}

const wrote = (entity, kind, error = "") => ({entity, kind, version: "9", error});

const BINDING = [
  step("2.1", {known: [known("volume/pv", "4", "4"), known(CLAIM, "5", "5")]}),
  step("3.1", {
    part: "scheduler",
    writes: [wrote("volume/pv", "VolumePreBound")],
    known: [known("volume/pv", "6", "4", {names: "shop/data"}), known(CLAIM, "5", "5")],
  }),
  step("3.2", {
    writes: [wrote("volume/pv", "VolumeBound"), wrote(CLAIM, "ClaimBindCompleted", "it has been modified")],
    known: [known("volume/pv", "7", "6", {names: "shop/data", phase: "Bound"}), known(CLAIM, "5", "5")],
  }),
];

test("the named step is shown, else the newest so far", () => {
  assert.equal(placeOf(BINDING, "3.1", 3), 1);
  assert.equal(placeOf(BINDING, "", 3), 2);
  assert.equal(placeOf(BINDING, "3.1", 2), 0);
  assert.equal(placeOf(BINDING, "", null), 2);
  assert.equal(placeOf(BINDING, "", 1), -1);
  assert.equal(placeOf([], "", null), -1);
});

test("steps of other nodes begin their own bands", () => {
  const on = (id, node, part = "kubelet") => step(id, {part, entity: `node/${node}`});
  const bands = bandsOf([...BINDING, on("4.1", "n1"), on("5.1", "n1", "attach"), on("6.1", "n2")]);
  assert.deepEqual(
    bands.map(({node, steps}) => [node, steps.length]),
    [
      ["", 3],
      ["n1", 2],
      ["n2", 1],
    ],
  );
});

test("a refused write stands among those done", () => {
  const rows = (place) => writesUpTo(BINDING, place, {claim: "shop/data", volume: "pv"}).map(({status}) => status);
  assert.deepEqual(rows(0), ["missing", "missing", "missing", "missing"]);
  assert.deepEqual(rows(1), ["done", "missing", "missing", "missing"]);
  assert.deepEqual(rows(2), ["done", "done", "refused", "missing"]);
});

test("a late informer and a later step are marked", () => {
  const {columns, rows} = versionsOf(BINDING, 1, "volume/pv");
  assert.deepEqual(
    columns.map(({isNow, isAhead}) => [isNow, isAhead]),
    [
      [false, false],
      [true, false],
      [false, true],
    ],
  );
  const [, informer] = rows;
  assert.deepEqual(
    informer.cells.map(({text, isStale}) => [text, isStale]),
    [
      ["4", false],
      ["4", true],
      ["6", true],
    ],
  );
});

test("what a step changed in memory is marked", () => {
  const memory = [
    {whose: "scheduler", what: "pv", before: "rv 4", after: "rv 4 + claimRef"},
    {whose: "scheduler", what: "shop/data", before: "rv 5", after: "rv 5"},
  ];
  const [[whose, rows]] = memoryOf({memory});
  assert.equal(whose, "scheduler");
  assert.deepEqual(
    rows.map(({isChanged}) => isChanged),
    [true, false],
  );
});

const TREE = {
  function: "syncClaim",
  lines: [
    {id: "top", depth: 0, kind: "function", text: "syncClaim"},
    {id: "bound", depth: 1, kind: "question", text: "yes"},
    {id: "lost", depth: 2, kind: "end", text: "Lost"},
    {id: "well", depth: 2, kind: "end", text: "well"},
    {id: "again", depth: 2, kind: "end", text: "again"},
    {id: "unbound", depth: 1, kind: "end", text: "no"},
  ],
};

test("a long part not taken is folded", () => {
  const taken = {way: ["top", "unbound"], read: {unbound: ""}};
  const drawn = linesOf(TREE, taken);
  assert.deepEqual(
    drawn.map(({id, isLit, folded}) => [id, isLit, folded]),
    [
      ["top", true, 0],
      ["bound", false, 3],
      ["unbound", true, 0],
    ],
  );
  assert.equal(linesOf(TREE, taken, new Set(["bound"])).length, 6);
  assert.equal(readWords(drawn[2].read), "absent");
});

const TRIES = [
  {
    node: "n1",
    volume: "pv",
    began: 1e9,
    ended: 1.1e9,
    operation: "volume_mount",
    error: "no",
    delay: 5e8,
    retry_at: 1.7e9,
  },
  {
    node: "n1",
    volume: "pv",
    began: 1.7e9,
    ended: 1.8e9,
    operation: "volume_mount",
    error: "no",
    delay: 1e9,
    retry_at: 2.9e9,
  },
  {node: "n1", volume: "pv", began: 2.9e9, ended: 3e9, operation: "volume_mount", error: "", delay: 0, retry_at: null},
];

test("tries are drawn up to the instant shown", () => {
  const statuses = (at) => ladderOf(TRIES, {at, node: "n1", volume: "pv"})?.rows.map(({status}) => status) ?? null;
  assert.equal(statuses(1.05e9), null);
  assert.deepEqual(statuses(1.8e9), ["failed", "failed", "next"]);
  assert.deepEqual(statuses(2.95e9), ["failed", "failed", "running"]);
  assert.deepEqual(statuses(3e9), ["failed", "failed", "succeeded"]);
});

test("a tick is high once it did something", () => {
  const steps = [
    step("1.1", {part: "kubelet", entity: "node/n1", at: 1e9}),
    step("2.1", {part: "kubelet", entity: "node/n1", at: 1.1e9}),
  ];
  const high = ticksOf(steps, {at: 1e9, node: "node/n1", span: 2e8}).map((tick) => [tick.at, tick.steps.length]);
  assert.deepEqual(high, [
    [8e8, 0],
    [9e8, 0],
    [1e9, 1],
    [1.1e9, 0],
    [1.2e9, 0],
  ]);
});

const EMPTY_TICK = {pods: [], asked: [], ended: [], volumes: {}, before: {}};

test("a step says in words what it did", () => {
  const assumed = step("1.1", {
    part: "scheduler",
    function: "AssumePodVolumes",
    outcome: "assumed",
    says: {pod: "shop/web", node: "n1", volume: "pv"},
  });
  assert.equal(wordsOf(assumed).outcome, "assumes pv");
  const seen = ["web", "api"].map((name) => ({
    function: "findAndAddNewPods",
    pod: `shop/${name}`,
    found: "new",
    what: "added",
    done: true,
  }));
  const added = step("1.1", {
    part: "kubelet",
    entity: "node/n1",
    function: "findAndAddNewPods",
    tick: {...EMPTY_TICK, pods: seen},
  });
  assert.deepEqual([wordsOf(added).title, wordsOf(added).outcome], ["populator", "adds web and 1 more"]);
  const ended = [
    {
      operation: "volume_mount",
      volume: "x^pv",
      pod: "",
      error: "MountVolume.MountDevice failed",
      failures: 2,
      delay: 1e9,
      retry_at: 4e9,
    },
  ];
  const failed = step("1.1", {
    part: "kubelet",
    entity: "node/n1",
    outcome: "fails",
    error: "no",
    tick: {...EMPTY_TICK, ended},
  });
  assert.deepEqual([wordsOf(failed).title, wordsOf(failed).outcome], ["MountDevice", "fails, 2 times"]);
});
