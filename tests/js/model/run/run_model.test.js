import assert from "node:assert/strict";
import {test} from "node:test";

import {cellAt, stripLayout} from "../../../../static/js/model/nodes/strip.js";
import {LANES} from "../../../../static/js/model/pods/lanes.js";
import {RunModel} from "../../../../static/js/model/run/run_model.js";

const NODES = ["n1", "n2", "n3"];

/** A small random run: pods come, move between lanes and nodes, and go. Same seed, same run. */
function randomRun(seed, length) {
  let value = seed;
  const random = (below) => {
    value = (value * 1103515245 + 12345) % 2147483648;
    return Math.floor((value / 2147483648) * below);
  };
  const events = [];
  for (let seq = 1; seq <= length; seq += 1) {
    const id = `pod/a/p${random(12)}`;
    const change = [
      {queue: LANES[random(5)], queue_since: seq, node: null},
      {queue: null, node: NODES[random(3)], claims: ["data"]},
      {queue: null, node: null, nominated: NODES[random(3)]},
      null,
    ][random(4)];
    const changes = {[id]: change};
    if (random(5) === 0) changes[`node/${NODES[random(3)]}`] = random(3) ? {zone: `z${random(2)}`} : null;
    if (random(5) === 0) changes["volume/v"] = random(2) ? {claim: "a/data"} : null;
    events.push({seq, at: seq * 1e8, kind: "PodUpdated", object: id, changes});
  }
  return events;
}

/** Everything a board shows of a model. */
function shown(model) {
  return {
    seq: model.seq,
    entities: Object.fromEntries([...model.entities].sort()),
    lanes: LANES.map((lane) => [model.lanes.size(lane), model.lanes.first(lane)]),
    zones: model.nodes.zones(),
    tiles: NODES.map((name) => model.nodes.tiles(name)),
    holder: model.claims.holder("claim/a/data"),
    users: model.claims.usersOf("claim/a/data", model.entities),
    events: model.run.events.map(({seq}) => seq),
  };
}

/** The model of a state, derived from scratch. */
function derived(model) {
  const anew = new RunModel();
  anew.reset({
    seq: model.seq,
    at: model.at,
    state: Object.fromEntries(model.entities),
    events: model.run.events,
  });
  return anew;
}

test("updated views equal newly derived views", () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const model = new RunModel();
    for (const event of randomRun(seed, 120)) model.stepForward(event);
    assert.deepEqual(shown(model), shown(derived(model)), `seed ${seed}`);
  }
});

test("a state taken in parts is the whole one", () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const model = new RunModel();
    for (const event of randomRun(seed, 120)) model.stepForward(event);
    const objects = [...model.entities];
    const counts = {since: 0, samples: [[0, 4, 1, 2, 3]]};
    const [first, ...others] = [objects.slice(0, 5), objects.slice(5, 8), objects.slice(8)].map(Object.fromEntries);
    const parts = new RunModel();
    parts.reset({seq: model.seq, at: model.at, state: first, events: model.run.events, counts});
    for (const part of others) parts.extend(Object.entries(part), counts);
    const whole = derived(model);
    whole.counters.learn(counts, whole.seq);
    assert.deepEqual(shown(parts), shown(whole), `seed ${seed}`);
    assert.deepEqual(parts.counters, whole.counters, `seed ${seed}`);
  }
});

test("stepping back and forth restores the state", () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const model = new RunModel();
    const events = randomRun(seed, 90);
    for (const event of events) model.stepForward(event);
    const there = shown(model);
    for (let i = 0; i < 40; i += 1) assert.equal(model.stepBack(), true);
    assert.equal(model.seq, 50);
    assert.deepEqual(shown(model), shown(derived(model)), `seed ${seed}`);
    for (const event of events.slice(50)) model.stepForward(event);
    assert.deepEqual(shown(model), there, `seed ${seed}`);
  }
});

test("moving to another event derives what a whole state does", () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const [shownModel, there] = [new RunModel(), new RunModel()];
    const events = randomRun(seed, 120);
    for (const event of events) shownModel.stepForward(event);
    const [before, after] = [events.slice(0, 70), events.slice(70)];
    for (const event of before) there.stepForward(event);
    const anew = derived(there);
    const ids = [...new Set([...shownModel.entities.keys(), ...anew.entities.keys()])];
    const whole = (id) => wholePatch(shownModel.entities.get(id), anew.entities.get(id));
    shownModel.move({
      seq: 70,
      at: anew.at,
      events: anew.run.events,
      changes: Object.fromEntries(ids.map((id) => [id, whole(id)])),
    });
    assert.deepEqual(shown(shownModel), shown(anew), `seed ${seed}`);
    assert.equal(shownModel.stepBack(), false);
    for (const event of after) shownModel.stepForward(event);
    for (const event of after) there.stepForward(event);
    assert.deepEqual(shown(shownModel), shown(there), `seed ${seed}`);
  }
});

/** A merge patch that makes an entity of another one. */
function wholePatch(before, after) {
  if (after === undefined) return null;
  const gone = Object.keys(before ?? {}).filter((name) => !(name in after));
  return {...Object.fromEntries(gone.map((name) => [name, null])), ...after};
}

test("stepping back ends at the snapshot", () => {
  const model = new RunModel();
  model.reset({seq: 5, at: 5, state: {}, events: []});
  assert.equal(model.stepBack(), false);
  assert.equal(model.seq, 5);
});

test("time advances without events, not past missing ones", () => {
  const model = new RunModel();
  model.reset({seq: 5, at: 100, state: {}, events: []});
  assert.equal(model.rest(6, 300), false);
  assert.equal(model.rest(5, 50), false);
  assert.equal(model.rest(5, 200), true);
  assert.equal(model.at, 200);
});

test("frames and single events give equal views", () => {
  const events = randomRun(7, 100);
  const [one, framed] = [new RunModel(), new RunModel()];
  for (const event of events) one.stepForward(event);
  for (const event of events) {
    framed.apply({first: event.seq, last: event.seq, at: event.at, changes: event.changes, events: [event]});
  }
  assert.equal(framed.apply({first: 90, last: 95, at: 0, changes: {}, events: []}), false);
  assert.deepEqual(shown(framed), shown(one));
});

test("a cell of a strip is found by position", () => {
  const layout = stripLayout(250, 100, 8);
  assert.equal(layout.columns, 12);
  for (const index of [0, 11, 12, 249]) {
    const [x, y] = layout.origin(index);
    assert.equal(cellAt(layout, x + 3, y + 3), index);
  }
  assert.equal(cellAt(layout, 99, 3), -1);
  assert.equal(cellAt(layout, 95, 999), -1);
});
