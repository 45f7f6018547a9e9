import assert from "node:assert/strict";
import {test} from "node:test";

import {PastCursor} from "../../../static/js/controllers/session/past_cursor.js";
import {Answers} from "../../../static/js/offline/answers.js";
import {History} from "../../../static/js/offline/history.js";

const HEAD = 25;
const CHUNK = 10;
const events = Array.from({length: HEAD}, (_, i) => ({
  seq: i + 1,
  // Two events at each moment.
  at: Math.floor(i / 2) * 100,
  kind: i % 3 === 0 ? "PodBound" : "PodUpdated",
  object: `pod/a/p${i % 2}`,
  component: "scheduler",
  message: `Message ${i + 1}`,
  cause: i || null,
  data: i % 5 === 0 ? {event: true} : null,
  changes: {[`pod/a/p${i % 2}`]: {n: i + 1}, ...(i === 20 ? {"pod/a/p0": null} : {})},
}));

/** A history that begins after an event, with states at these; `read` counts how often a part was read. */
function historyFrom(base = 0, frames = []) {
  const read = {chunks: 0, keyframes: 0};
  const kept = events.slice(base);
  const chunks = [];
  for (let i = 0; i < kept.length; i += CHUNK) {
    const part = kept.slice(i, i + CHUNK);
    chunks.push({first: part[0].seq, at: part[0].at, read: () => ((read.chunks += 1), part)});
  }
  const keyframes = [base, ...frames].map((seq) => ({
    seq,
    at: seq > 0 ? events[seq - 1].at : 0,
    read: () => ((read.keyframes += 1), stateOf(seq)),
  }));
  return {history: new History({chunks, keyframes, head: HEAD}), read};
}

function stateOf(seq) {
  const state = {};
  for (const {changes} of events.slice(0, seq)) {
    for (const [id, patch] of Object.entries(changes)) {
      if (patch === null) delete state[id];
      else state[id] = {...state[id], ...patch};
    }
  }
  return state;
}

const seqs = (found) => found.map(({seq}) => seq);

test("every state is that of all events until then", () => {
  const {history} = historyFrom(0, [12]);
  for (const seq of [25, 0, 12, 13, 11, 21, 20, 1]) {
    const {at, entities} = history.stateAt(seq);
    assert.deepEqual(Object.fromEntries(entities), stateOf(seq));
    assert.equal(at, seq > 0 ? events[seq - 1].at : 0);
  }
});

test("a state that was folded is gone on from", () => {
  const {history, read} = historyFrom();
  history.stateAt(8);
  history.stateAt(9);
  assert.deepEqual(read, {chunks: 1, keyframes: 1});
});

test("what is asked of a state does not change it", () => {
  const {history} = historyFrom();
  history.stateAt(9).entities.clear();
  assert.deepEqual(Object.fromEntries(history.stateAt(9).entities), stateOf(9));
});

test("a moment has the last of its events", () => {
  const {history} = historyFrom();
  assert.deepEqual(
    [-1, 0, 99, 100, 1200, 9999].map((at) => history.seqAt(at)),
    [0, 2, 2, 4, 25, 25],
  );
});

test("a recording that begins later has nothing before", () => {
  const {history} = historyFrom(14);
  assert.equal(history.base, 14);
  assert.equal(history.event(14), undefined);
  assert.equal(history.event(15).seq, 15);
  assert.throws(() => history.stateAt(13), /begins after event 14/);
  assert.deepEqual(Object.fromEntries(history.stateAt(16).entities), stateOf(16));
  assert.deepEqual(seqs(history.newest(16, 50)), [16, 15]);
  assert.equal(history.times()[3], events[13].at);
});

test("events are found by all that is asked", () => {
  const {history} = historyFrom();
  const found = (query) => seqs(history.find(query).items);
  assert.deepEqual(found({kind: "PodBound", object: "pod/a/p0"}), [1, 7, 13, 19, 25]);
  assert.deepEqual(found({object: "pod/a/*", after: 22}), [23, 24, 25]);
  assert.deepEqual(found({object: "pod/a", after: 22}), []);
  assert.deepEqual(found({changes: "pod/a/p0", before: 6}), [1, 3, 5]);
  assert.deepEqual(found({from: 100, to: 200}), [3, 4, 5, 6]);
  assert.deepEqual(found({text: "message 2", order: "desc"}), [25, 24, 23, 22, 21, 20, 2]);
  assert.deepEqual(found({kubernetes: 1}), [1, 6, 11, 16, 21]);
  assert.deepEqual(found({component: "kubelet,scheduler", after: 24}), [25]);
});

test("pages of events follow each other", () => {
  const {history} = historyFrom();
  for (const order of ["asc", "desc"]) {
    const met = [];
    let place = null;
    do {
      const page = history.find({kind: "PodBound", limit: 2, order, continue: place});
      met.push(...seqs(page.items));
      place = page.continue;
    } while (place !== null);
    const all = [1, 4, 7, 10, 13, 16, 19, 22, 25];
    assert.deepEqual(met, order === "asc" ? all : all.reverse());
  }
});

test("an eviction names for whose sake it was", () => {
  const rows = [
    {seq: 1, kind: "AttemptStarted", object: "pod/a/high", component: "scheduler", cause: null},
    {seq: 2, kind: "PreemptionDecided", object: "pod/a/high", component: "scheduler", cause: 1},
    {seq: 3, kind: "Preempted", object: "pod/a/low", component: "scheduler", cause: 2},
    {seq: 4, kind: "PodEvicted", object: "pod/a/low", component: "taint-manager", cause: 2},
  ].map((row) => ({at: 0, message: "", data: null, changes: null, ...row}));
  const history = new History({
    chunks: [{first: 1, at: 0, read: () => rows}],
    keyframes: [{seq: 0, at: 0, read: () => ({})}],
    head: 4,
  });
  assert.deepEqual(
    history.find({}).items.map(({by}) => by),
    [undefined, undefined, "pod/a/high", undefined],
  );
});

test("a cursor goes on and back in a file", async () => {
  const {history} = historyFrom(0, [10]);
  const facts = {run: {id: 1, head_at: 1200}, histogram: {}, attempts: [], evidenceOf: () => null, whys: {}};
  const answers = new Answers({...facts, history, lanesOf: () => ({}), pathsOf: () => ({})});
  const api = {
    parts: async (path, asked, signal, onPart) => {
      for (const part of answers.parts(path, asked)) await onPart(structuredClone(part));
    },
  };
  let cursor = null;
  for (const seq of [20, 5, 24, 0, 13]) {
    cursor = new PastCursor(api, cursor);
    await cursor.jump({seq});
    assert.equal(cursor.model.seq, seq);
    assert.deepEqual(Object.fromEntries(cursor.model.entities), stateOf(seq));
  }
});
