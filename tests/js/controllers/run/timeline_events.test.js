import assert from "node:assert/strict";
import {afterEach, beforeEach, mock, test} from "node:test";

import {signal} from "@preact/signals";

import {TimelineEvents} from "../../../../static/js/controllers/run/timeline_events.js";

const LAST = 30;

let place, asked, written;

beforeEach(() => {
  mock.timers.enable({apis: ["setTimeout"]});

  globalThis.addEventListener = () => {};
  place = signal({seq: 12, past: true});
  [asked, written] = [[], []];
});

afterEach(() => {
  mock.timers.reset();
  delete globalThis.addEventListener;
});

/** The timeline of a run of so many events. */
function timeline(last = LAST) {
  const session = {
    isWaiting: false,
    get place() {
      return place.value;
    },
    get model() {
      return {seq: place.value.seq};
    },
    address: {search: "?kind=PodBound&seq=12", write: (changes) => written.push(changes)},
    api: {
      get: async (path, query) => {
        asked.push(query);
        const {before = null, after = null, order, limit} = query;
        const seqs = Array.from({length: last}, (_, i) => i + 1).filter(
          (seq) => seq < (before ?? Infinity) && seq > (after ?? 0),
        );
        if (order === "desc") seqs.reverse();
        const begin = query.continue ? seqs.indexOf(Number(query.continue)) + 1 : 0;
        const items = seqs.slice(begin, begin + limit).map((seq) => ({seq}));
        return {items, highest: last, continue: seqs.length > begin + limit ? String(items.at(-1).seq) : null};
      },
    },
  };
  const events = new TimelineEvents(session);
  events.start();
  return events;
}

async function settle() {
  for (let i = 0; i < 3; i += 1) {
    mock.timers.tick(1000);
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}

const shown = (events) => events.shown.value.map(({event}) => event.seq);

test("only events up to the one shown are listed", async () => {
  const events = timeline();
  await settle();
  assert.equal(asked[0].before, 13);
  assert.equal(asked[0].kind, "PodBound");
  assert.deepEqual([shown(events)[0], shown(events).length], [12, 12]);
});

test("a step back removes the last event at once", async () => {
  const events = timeline();
  await settle();
  place.value = {seq: 11, past: true};
  assert.equal(shown(events)[0], 11);
});

test("later events are listed on request only", async () => {
  const events = timeline();
  await settle();
  events.withLater.value = true;
  await settle();
  const later = events.shown.value.filter(({isLater}) => isLater).map(({event}) => event.seq);
  assert.deepEqual([later.at(-1), later.length], [13, 18]);
});

test("a playing run adds its newest events", async () => {
  place.value = {seq: LAST - 1, past: false};
  const events = timeline();
  await settle();
  assert.equal(shown(events)[0], LAST - 1);
  const before = asked.length;
  events.upTo = LAST - 1;
  place.value = {seq: LAST, past: false};
  await settle();
  assert.equal(shown(events)[0], LAST);
  assert.ok(asked.length > before);
});

test("filters are in the address, wrong ones are reported", async () => {
  const events = timeline();
  events.filter({from: "soon", kind: ""});
  await settle();
  assert.match(events.problem.value, /From is “soon”/);
  assert.deepEqual([written[0].from, written[0].order], ["soon", null]);
});

test("one page of the table is held", async () => {
  place.value = {seq: 300, past: true};
  const events = timeline(600);
  await settle();
  assert.deepEqual([shown(events)[0], shown(events).length], [300, 200]);
  events.turn(1);
  await settle();
  assert.deepEqual([shown(events)[0], shown(events).length, events.held.value.next], [100, 100, null]);
  events.turn(-1);
  await settle();
  assert.equal(shown(events)[0], 300);
});

test("older pages stay while the run plays", async () => {
  place.value = {seq: 500, past: false};
  const events = timeline(600);
  await settle();
  events.turn(1);
  await settle();
  const before = asked.length;
  events.upTo = 500;
  place.value = {seq: 600, past: false};
  await settle();
  assert.deepEqual([asked.length, shown(events).length], [before, 200]);
});
