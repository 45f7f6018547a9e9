import assert from "node:assert/strict";
import {test} from "node:test";

import {RunModel} from "../../../static/js/model/run_model.js";
import {Counters} from "../../../static/js/model/counters.js";

const SECOND = 1e9;

function counted(...samples) {
  const counters = new Counters();
  for (const [at, bound, ...sizes] of samples) counters.add(at, bound, sizes);
  return counters;
}

test("the rate is how many pods were bound within the last second", () => {
  const counters = new Counters();
  for (let i = 0; i <= 100; i += 1) counters.add(i * SECOND * 0.25, 1, [0, 0, 0]);
  assert.equal(counters.series(1, 25 * SECOND).at(-1), 4);
});

test("a lane keeps its size between samples", () => {
  const counters = counted([0, 0, 3, 0, 0], [10 * SECOND, 0, 8, 0, 0]);
  assert.deepEqual(counters.series(2, 20 * SECOND, 5), [3, 3, 8, 8, 8]);
});

test("what was not seen is not known, which is not zero", () => {
  const counters = new Counters();
  counters.restart(900, 100 * SECOND, [5, 5, 5]);
  assert.deepEqual(counters.series(2, 100 * SECOND, 3), [null, null, 5]);
  assert.equal(counters.series(1, 100 * SECOND, 3).at(-1), null);
  assert.equal(counters.covers(100 * SECOND), false);
});

test("what the server knows is put before what was counted here", () => {
  const counters = new Counters();
  counters.restart(900, 99.95 * SECOND, [5, 0, 0]);
  counters.add(99.98 * SECOND, 2, [3, 0, 0]);
  const told = {
    since: 79 * SECOND,
    samples: [
      [79 * SECOND, 0, 1, 0, 0],
      [99.5 * SECOND, 4, 6, 0, 0],
      [100 * SECOND, 1, 5, 0, 0],
    ],
  };
  assert.equal(counters.learn(told, 899), false, "told of another event");
  assert.equal(counters.learn(told, 900), true);
  assert.equal(counters.covers(100 * SECOND), true);
  assert.equal(counters.series(1, 100 * SECOND).at(-1), 7);
  assert.equal(counters.series(2, 100 * SECOND).at(-1), 3);
});

test("many samples are thinned, the newest kept", () => {
  const counters = new Counters();
  for (let i = 0; i < 5000; i += 1) counters.add(i * 1e8, 1, [i, 0, 0]);
  assert.ok(counters.samples.length <= 501);
  assert.equal(counters.covers(4999 * 1e8), true);
  assert.equal(counters.series(2, 4999 * 1e8).at(-1), 4999);
});

/** Pods that are queued, refused, bound and deleted, several events within a tenth of a second. */
function someEvents() {
  const events = [];
  const add = (at, changes) =>
    events.push({seq: events.length + 1, at: at * SECOND, kind: "PodUpdated", object: "pod/a/p", changes});
  for (let i = 0; i < 60; i += 1) {
    const id = `pod/a/p${i}`;
    add(i * 0.37, {[id]: {queue: "active"}});
    add(i * 0.37 + 0.003, {[id]: {queue: i % 3 ? null : "unschedulable"}});
    if (i % 3) add(i * 0.37 + 0.02, {[id]: {node: "n1"}});
    if (i % 5 === 0 && i % 3) add(i * 0.37 + 0.03, {[id]: null});
  }
  return events;
}

function drawn(model, at) {
  return [1, 2, 3, 4].map((column) => model.counters.series(column, at));
}

function stepped(events, model = new RunModel()) {
  for (const event of events) model.stepForward(event);
  return model;
}

test("counters are the same live and after the page was opened anew", () => {
  const events = someEvents();
  const live = stepped(events);
  const at = live.at;
  for (const cut of [10, 77, 130]) {
    const opened = new RunModel();
    const before = stepped(events.slice(0, cut));
    opened.reset({seq: cut, at: before.at, state: Object.fromEntries(before.entities), events: []});
    stepped(events.slice(cut), opened);
    opened.counters.learn({since: before.counters.since, samples: before.counters.samples}, cut);
    assert.deepEqual(drawn(opened, at), drawn(live, at), `opened after ${cut} events`);
  }
});

test("counters go back with the events that are taken back", () => {
  const events = someEvents();
  const model = stepped(events);
  for (let i = 0; i < 90; i += 1) model.stepBack();
  const there = stepped(events.slice(0, events.length - 90));
  assert.deepEqual(drawn(model, model.at), drawn(there, there.at));
});

test("a pod that is created with a node was not bound", () => {
  const model = new RunModel();
  model.stepForward({seq: 1, at: 5, kind: "PodCreated", object: "pod/a/p", changes: {"pod/a/p": {node: "n1"}}});
  assert.equal(model.counters.series(1, 1e8).at(-1), 0);
});

test("a frame whose events were not counted leaves what was before unknown", () => {
  const model = stepped(someEvents().slice(0, 20));
  model.apply({first: 21, last: 29, at: 9 * SECOND, changes: {}, events: []});
  assert.equal(model.counters.covers(9 * SECOND), false);
  assert.equal(model.counters.series(1, 9 * SECOND).at(-1), null);
});
