import assert from "node:assert/strict";
import {test} from "node:test";

import {PastCursor} from "../../../../static/js/controllers/session/past_cursor.js";
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

/** A server with 500 events that counts what it is asked. */
class FakeApi {
  asked = 0;

  async get(path, params) {
    this.asked += 1;
    if (path === "state/") {
      const {seq} = params;
      return {seq, at: seq * 1000, state: stateAt(seq), events: EVENTS.slice(Math.max(0, seq - 50), seq)};
    }
    const {after, limit} = params;
    return {items: EVENTS.filter(({seq}) => seq > after).slice(0, limit), continue: null};
  }
}

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
