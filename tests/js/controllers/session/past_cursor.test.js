import assert from "node:assert/strict";
import {afterEach, beforeEach, mock, test} from "node:test";

import {PastCursor} from "../../../../static/js/controllers/session/past_cursor.js";
import {RunModel} from "../../../../static/js/model/run/run_model.js";
import {mergePatch} from "../../../../static/js/model/shared/fold.js";

const LENGTH = 500;
const EVENTS = Array.from({length: LENGTH}, (_, i) => ({
  seq: i + 1,
  at: (i + 1) * 1000,
  kind: "PodUpdated",
  object: `pod/a/p${i % 7}`,
  changes: {[`pod/a/p${i % 7}`]: i % 11 === 0 ? null : {queue: "active", queue_since: i}},
}));

const stateAt = (seq) => EVENTS.slice(0, seq).reduce((state, {changes}) => mergePatch(state, changes), {});

/** A merge patch from one state to another, as the server makes it. */
function difference(before, after) {
  const gone = Object.keys(before).filter((id) => !(id in after));
  return {...Object.fromEntries(gone.map((id) => [id, null])), ...after};
}

/** A server with 500 events that counts what it is asked. Each part of a state has so many objects. */
class FakeApi {
  asked = 0;
  origins = [];
  head = LENGTH;
  size = Infinity;

  async parts(path, params, signal, onPart) {
    assert.equal(path, "state/");
    this.asked += 1;
    if (params.from > this.head) throw Object.assign(new Error("no such event"), {status: 404});
    this.origins.push(params.from ?? null);
    const seq = params.to ?? params.seq;
    const place = {seq, at: seq * 1000, events: EVENTS.slice(Math.max(0, seq - 50), seq)};
    if (params.from === undefined) await this.#send(place, "state", stateAt(seq), onPart);
    else {
      const changes = difference(stateAt(params.from), stateAt(seq));
      await this.#send({...place, origin: params.from}, "changes", changes, onPart);
    }
  }

  async #send(place, name, objects, onPart) {
    const left = Object.entries(objects);
    let first = place;
    do {
      const part = Object.fromEntries(left.splice(0, this.size));
      await onPart({...first, [name]: part, more: left.length > 0});
      first = {};
    } while (left.length > 0);
  }

  async get(path, params) {
    this.asked += 1;
    const {after, limit} = params;
    return {items: EVENTS.filter(({seq}) => seq > after).slice(0, limit), continue: null};
  }
}

/** Folding pauses after each part, as if every frame were full. */
beforeEach(() => {
  globalThis.document = {hidden: false};
  globalThis.requestAnimationFrame = (callback) => setImmediate(callback);
  mock.method(performance, "now", () => performance.now.mock.callCount() * 100);
});

afterEach(() => {
  mock.restoreAll();
  for (const name of ["document", "requestAnimationFrame"]) delete globalThis[name];
});

function assertAt(cursor, seq) {
  assert.equal(cursor.model.seq, seq);
  assert.deepEqual(
    Object.fromEntries([...cursor.model.entities].sort()),
    Object.fromEntries(Object.entries(stateAt(seq)).sort()),
  );
}

test("stepping back restores each earlier state", async () => {
  const cursor = new PastCursor(new FakeApi());
  await cursor.back(300);
  assertAt(cursor, 299);
  for (let seq = 298; seq >= 150; seq -= 1) {
    await cursor.back();
    assertAt(cursor, seq);
  }
});

test("many steps back need few requests", async () => {
  const api = new FakeApi();
  const cursor = new PastCursor(api);
  await cursor.back(400);
  for (let i = 0; i < 90; i += 1) await cursor.back();
  assert.equal(api.asked, 2);
});

test("stepping back ends at the beginning", async () => {
  const cursor = new PastCursor(new FakeApi());
  await cursor.jump({seq: 2});
  for (let i = 0; i < 5; i += 1) await cursor.back();
  assertAt(cursor, 0);
});

test("steps forward and back can be mixed", async () => {
  const cursor = new PastCursor(new FakeApi());
  await cursor.jump({seq: 200});
  for (let i = 0; i < 3; i += 1) await cursor.forward();
  assertAt(cursor, 203);
  for (let i = 0; i < 5; i += 1) await cursor.back();
  assertAt(cursor, 198);
  for (let i = 0; i < 4; i += 1) await cursor.forward();
  assertAt(cursor, 202);
});

test("nothing follows the newest recorded event", async () => {
  const cursor = new PastCursor(new FakeApi());
  await cursor.jump({seq: LENGTH - 1});
  assert.equal((await cursor.forward()).seq, LENGTH);
  assert.equal(await cursor.forward(), null);
  assertAt(cursor, LENGTH);
});

test("a jump loads what differs from the state shown", async () => {
  const api = new FakeApi();
  const shown = new PastCursor(api);
  await shown.jump({seq: 300});
  const {model} = shown;
  const next = new PastCursor(api, shown);
  await next.jump({seq: 120});
  assertAt(next, 120);
  assert.equal(next.model, model);
  const {events} = next.model.run;
  assert.deepEqual([events[0].seq, events.length], [120, 50]);
  const last = new PastCursor(api, next);
  await last.jump({seq: 480});
  assertAt(last, 480);
  assert.deepEqual(api.origins, [null, 300, 120]);
});

test("a jump from the newest event leaves the live model", async () => {
  const api = new FakeApi();
  const live = new RunModel();
  live.reset({seq: 400, at: 400_000, state: stateAt(400), events: []});
  const cursor = new PastCursor(api, live);
  const jumping = cursor.jump({seq: 10});
  live.apply({first: 401, last: 401, at: 401_000, changes: EVENTS[400].changes, events: [EVENTS[400]]});
  await jumping;
  assertAt(cursor, 10);
  assertAt({model: live}, 401);
  assert.deepEqual(api.origins, [400]);
});

test("a cursor that was taken over moves no more", async () => {
  const api = new FakeApi();
  const shown = new PastCursor(api);
  await shown.jump({seq: 300});
  const stepping = shown.forward();
  const next = new PastCursor(api, shown);
  await Promise.all([next.jump({seq: 200}), stepping]);
  assert.equal(await shown.forward(), null);
  await shown.back();
  assertAt(next, 200);
});

test("a step during a jump has the difference loaded anew", async () => {
  const api = new FakeApi();
  const shown = new PastCursor(api);
  await shown.jump({seq: 300});
  await shown.peek();
  const next = new PastCursor(api, shown);
  const jumping = next.jump({seq: 250});
  await shown.forward();
  await jumping;
  assertAt(next, 250);
});

test("a jump that is given up moves nothing", async () => {
  const api = new FakeApi();
  const shown = new PastCursor(api);
  await shown.jump({seq: 300});
  const seeking = new AbortController();
  const jumping = new PastCursor(api, shown).jump({seq: 20}, seeking.signal);
  seeking.abort();
  await jumping;
  assertAt(shown, 300);
});

test("a state that is no longer known is loaded whole", async () => {
  const api = new FakeApi();
  const shown = new PastCursor(api);
  await shown.jump({seq: 300});
  api.head = 250;
  const next = new PastCursor(api, shown);
  await next.jump({seq: 20});
  assertAt(next, 20);
  assert.deepEqual(api.origins, [null, null]);
});

test("a state in parts is taken when it is whole", async () => {
  const api = Object.assign(new FakeApi(), {size: 2});
  const cursor = new PastCursor(api);
  const before = cursor.model;
  const jumping = cursor.jump({seq: 300});
  await new Promise(setImmediate);
  assert.equal(cursor.model, before);
  await jumping;
  assertAt(cursor, 300);
  assertDerived(cursor.model);
});

test("what differs in parts leaves the state shown", async () => {
  const api = Object.assign(new FakeApi(), {size: 2});
  const shown = new PastCursor(api);
  await shown.jump({seq: 300});
  const next = new PastCursor(api, shown);
  await next.jump({seq: 128});
  assertAt(shown, 300);
  assertAt(next, 128);
  assertDerived(next.model);
  await shown.forward();
  assertAt(next, 128);
  assert.deepEqual(api.origins, [null, 300]);
});

test("a step meanwhile is not in the new state", async () => {
  const api = Object.assign(new FakeApi(), {size: 2});
  const shown = new PastCursor(api);
  await shown.jump({seq: 300});
  await shown.peek();
  const next = new PastCursor(api, shown);
  const jumping = next.jump({seq: 250});
  for (let i = 0; i < 12; i += 1) {
    await new Promise(setImmediate);
    await shown.forward();
  }
  await jumping;
  assertAt(shown, 312);
  assertAt(next, 250);
  assertDerived(next.model);
});

/** What is drawn of a model is what is drawn of a new one with the same state. */
function assertDerived(model) {
  const anew = new RunModel();
  anew.reset({seq: model.seq, at: model.at, state: Object.fromEntries(model.entities), events: []});
  const sizes = ({lanes}) => ["active", "backoff", "unschedulable"].map((lane) => lanes.size(lane));
  assert.deepEqual(sizes(model), sizes(anew));
}
