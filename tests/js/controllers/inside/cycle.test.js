import assert from "node:assert/strict";
import {test} from "node:test";

import {signal} from "@preact/signals";

import {Cycle} from "../../../../static/js/controllers/inside/cycle.js";
import {boundCycle} from "../../model/inside/cycle_answer.js";

const rest = (ms = 200) =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

/** A session at event 20, what it was asked, and where its play head went. */
function setUp({query = {}, entities = [["queue", {cycle: 4}]], fails = false} = {}) {
  const [asked, written, sought] = [[], [], []];
  const place = signal({seq: 20, past: false});
  const selection = {pod: signal(query.pod ?? null)};
  const session = {
    selection,
    isWaiting: false,
    live: {head: {seq: 20}},
    model: {entities: new Map(entities), run: {events: []}},
    get place() {
      return place.value;
    },
    address: {query: (name) => query[name] ?? "", write: (changes) => written.push(changes)},
    playhead: {
      show: (seq) => {
        if (place.value.past && place.value.seq === seq) return;
        sought.push(seq);
        place.value = {seq, past: true};
      },
    },
    select: ({pod}) => {
      selection.pod.value = pod;
    },
    api: {
      get: async (path, params) => {
        if (path === "inside/caches/") return {schedulers: []};
        asked.push(params);
        if (fails) throw new Error(`There is no cycle ${params.cycle}.`);
        return boundCycle({cycle: params.cycle ?? 4});
      },
    },
  };
  const cycle = new Cycle(session);
  cycle.start();
  return {cycle, asked, written, sought, session};
}

test("the newest cycle is read where none is named", async () => {
  const {cycle, asked, sought} = setUp();
  await rest();
  assert.deepEqual(asked, [{cycle: 4, pod: "", seq: 20}]);
  assert.equal(cycle.steps.value[cycle.place.value].id, "bind");
  assert.deepEqual(sought, []);
});

test("without a cycle nothing is asked", async () => {
  const {cycle, asked} = setUp({entities: []});
  await rest();
  assert.deepEqual(asked, []);
  assert.equal(cycle.wanted.value, null);
});

test("a link to a step takes the play head there", async () => {
  const {cycle, asked, sought, session} = setUp({query: {cycle: "4", step: "filter"}});
  await rest();
  assert.deepEqual(asked, [{cycle: 4, pod: "", seq: null}]);
  assert.deepEqual(sought, [10]);
  assert.equal(cycle.steps.value[cycle.place.value].id, "filter");
  assert.equal(session.selection.pod.value, "pod/shop/web-0");
});

test("a step is written into the address", async () => {
  const {cycle, written, sought} = setUp();
  await rest();
  cycle.move(-1);
  assert.deepEqual(written, [{cycle: 4, step: "prebind"}]);
  assert.deepEqual(sought, [11]);
  cycle.go(0);
  assert.equal(cycle.place.value, 0);
});

test("the cycle before is shown at the same step", async () => {
  const {cycle, asked, sought} = setUp({query: {cycle: "4", step: "score", seq: "10"}});
  await rest();
  cycle.turn(-1);
  await rest();
  assert.deepEqual(asked.at(-1), {cycle: 3, pod: "", seq: null});
  assert.equal(cycle.steps.value[cycle.place.value].id, "score");
  assert.deepEqual(sought, [10]);
});

test("a play head before the cycle shows none of it", async () => {
  const {cycle, session} = setUp({query: {cycle: "4", step: "score", seq: "10"}});
  await rest();
  session.playhead.show(5);
  assert.equal(cycle.isAhead.value, true);
});

test("a cycle that there is not can be asked again", async () => {
  const {cycle, asked} = setUp({query: {cycle: "99"}, fails: true});
  await rest();
  assert.equal(cycle.held.value.message, "There is no cycle 99.");
  cycle.retry();
  await rest();
  assert.equal(asked.length, 2);
});
