import assert from "node:assert/strict";
import {test} from "node:test";

import {GapError, KEPT_EVENTS, RunState} from "../../../../static/js/model/run/run_state.js";

const event = (seq, changes = {}) => ({seq, at: seq * 10, kind: "PodUpdated", object: "pod/a/b", changes});
const frame = (first, last, changes = {}) => ({
  first,
  last,
  at: last * 10,
  changes,
  events: [event(last)],
});

function stateAt(seq) {
  const state = new RunState();
  state.reset({seq, at: seq * 10, state: {"pod/a/b": {queue: "active"}}, events: [event(seq)]});
  return state;
}

test("a frame that continues the state is folded", () => {
  const state = stateAt(5);
  const before = state.apply(frame(6, 9, {"pod/a/b": {queue: null, node: "n1"}}));
  assert.deepEqual(state.entities.get("pod/a/b"), {node: "n1"});
  assert.deepEqual([...before], [["pod/a/b", {queue: "active"}]]);
  assert.equal(state.seq, 9);
  assert.equal(state.at, 90);
});

test("a repeated frame is dropped", () => {
  const state = stateAt(5);
  assert.equal(state.apply(frame(3, 5, {"pod/a/b": null})), null);
  assert.equal(state.entities.size, 1);
});

test("a frame after a gap changes nothing", () => {
  const state = stateAt(5);
  assert.throws(() => state.apply(frame(7, 8, {"pod/a/b": null})), GapError);
  assert.equal(state.seq, 5);
  assert.equal(state.entities.size, 1);
});

test("an overlapping frame is rejected", () => {
  // Its changes are composed, so the part seen already cannot be told from the rest.
  assert.throws(() => stateAt(5).apply(frame(4, 8)), GapError);
});

test("the newest events come first and are limited", () => {
  const state = stateAt(1);
  for (let seq = 2; seq <= 80; seq += 1) state.apply(frame(seq, seq));
  assert.equal(state.events.length, KEPT_EVENTS);
  assert.equal(state.events[0].seq, 80);
});

test("undoing steps restores each earlier state", () => {
  const state = stateAt(5);
  const first = state.step(event(6, {"pod/a/b": {queue: "backoff"}}));
  const second = state.step(event(7, {"pod/a/b": null, "pod/a/c": {queue: "active"}}));
  assert.deepEqual([...state.undo(second)], ["pod/a/b", "pod/a/c"]);
  assert.deepEqual(Object.fromEntries(state.entities), {"pod/a/b": {queue: "backoff"}});
  state.undo(first);
  assert.deepEqual(Object.fromEntries(state.entities), {"pod/a/b": {queue: "active"}});
  assert.equal(state.seq, 5);
  assert.equal(state.events[0].seq, 5);
});
