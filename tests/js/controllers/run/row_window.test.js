import assert from "node:assert/strict";
import {afterEach, beforeEach, mock, test} from "node:test";

import {signal} from "@preact/signals";

import {RowWindow} from "../../../../static/js/controllers/run/row_window.js";

let place, moving, wanted, asked, waiting;

beforeEach(() => {
  mock.timers.enable({apis: ["setTimeout"]});
  place = signal({seq: 12, past: true});
  moving = signal(false);
  wanted = signal({search: ""});
  [asked, waiting] = [[], []];
});

afterEach(() => mock.timers.reset());

/** A window that is asked for; its answers come when `answer` is called. */
function opened({isWaiting = false} = {}) {
  const session = {
    isWaiting,
    get place() {
      return place.value;
    },
    get isMoving() {
      return moving.value;
    },
    api: {
      get: (path, query, aborting) => {
        asked.push([path, query.seq, query.search]);
        return new Promise((resolve, reject) => {
          waiting.push({query, aborting, resolve, reject});
        });
      },
    },
  };
  const rows = new RowWindow(session, "pods", () => wanted.value);
  rows.start();
  return rows;
}

async function settle(ms = 0) {
  mock.timers.tick(ms);
  for (let i = 0; i < 3; i += 1)
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
}

/** Answer the questions that wait, as far as `read`. */
async function answer(read = null) {
  for (const {query, resolve} of waiting.splice(0))
    resolve({seq: query.seq, read: read ?? query.seq, rows: [{id: "pod/a/1"}], found: 1});
  await settle();
}

test("rows are asked for at the event shown", async () => {
  const rows = opened();
  await settle();
  assert.deepEqual(asked, [["rows/pods/", 12, ""]]);
  assert.equal(rows.isLate.value, true);
  await answer();
  assert.deepEqual([rows.held.value.seq, rows.isLate.value], [12, false]);
});

test("the event a page is opened at is known", async () => {
  opened({isWaiting: true});
  await settle();
  assert.equal(asked.length, 1);
  place.value = {seq: 30, past: false};
  await settle();
  assert.equal(asked.length, 1);
});

test("a step in the past asks at once", async () => {
  const rows = opened();
  await settle();
  await answer();
  place.value = {seq: 11, past: true};
  assert.equal(rows.isLate.value, true);
  await settle();
  place.value = {seq: 10, past: true};
  await settle();
  assert.equal(waiting[0].aborting.aborted, true);
  await answer();
  assert.deepEqual([asked.map(([, seq]) => seq), rows.held.value.seq], [[12, 11, 10], 10]);
});

test("a playing run keeps its rows between answers", async () => {
  moving.value = true;
  place.value = {seq: 1, past: false};
  const rows = opened();
  await settle();
  for (let seq = 2; seq < 50; seq += 1) place.value = {seq, past: false};
  assert.equal(asked.length, 1);
  await answer();
  assert.deepEqual([rows.held.value.seq, rows.isLate.value], [1, false]);
  await settle(100);
  assert.equal(asked.length, 1);
  await settle(2000);
  assert.deepEqual(asked.at(-1), ["rows/pods/", 49, ""]);
});

test("a run that stops gets its last rows", async () => {
  moving.value = true;
  const rows = opened();
  await settle();
  place.value = {seq: 13, past: false};
  await answer();
  moving.value = false;
  assert.equal(rows.isLate.value, true);
  await settle();
  await answer();
  assert.deepEqual([rows.held.value.seq, rows.isLate.value], [13, false]);
});

test("what one types is asked after a pause", async () => {
  const rows = opened();
  await settle();
  await answer();
  for (const search of ["w", "we", "web"]) wanted.value = {search};
  await settle(10);
  assert.equal(asked.length, 1);
  await settle(200);
  await answer();
  assert.deepEqual(asked.slice(1), [["rows/pods/", 12, "web"]]);
  assert.equal(rows.isLate.value, false);
});

test("a long history is asked for again", async () => {
  const rows = opened();
  await settle();
  await answer(4);
  assert.equal(rows.held.value, null);
  await answer();
  assert.deepEqual([asked.length, rows.held.value.seq], [2, 12]);
});

test("a failure is said and can be tried again", async () => {
  const rows = opened();
  await settle();
  waiting.splice(0)[0].reject(new Error("no server"));
  await settle();
  assert.deepEqual([rows.problem.value, rows.held.value], ["no server", null]);
  rows.retry();
  await settle();
  await answer();
  assert.deepEqual([rows.problem.value, rows.held.value.seq], ["", 12]);
});

test("nothing is asked for while none is wanted", async () => {
  wanted.value = null;
  const rows = opened();
  await settle();
  assert.equal(asked.length, 0);
  wanted.value = {search: "web"};
  await settle();
  await answer();
  wanted.value = null;
  assert.equal(rows.held.value, null);
});
