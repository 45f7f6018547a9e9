import assert from "node:assert/strict";
import {afterEach, beforeEach, mock, test} from "node:test";

import {signal} from "@preact/signals";

import {followWhy} from "../../../../static/js/controllers/why/why_again.js";

const ID = "pod/shop/web-1";
const PENDING = {queue: "unschedulable"};

let session, asked;

/** A session whose pod was asked about at event 10; `goTo` shows another event. */
function sessionAt({playing}) {
  const place = signal({seq: 10, past: false});
  return {
    why: {
      held: signal({id: ID, seq: null, status: "ready", diagnosis: {seq: 10}}),
      forget() {
        this.held.value = null;
      },
    },
    run: signal({status: playing ? "playing" : "paused", trial: null}),
    chosen: signal(ID),
    subject() {
      return this.chosen.value;
    },
    get place() {
      return place.value;
    },
    get model() {
      return {entities: new Map([[ID, PENDING]]), seq: place.value.seq, at: place.value.seq};
    },
    askWhy: () => asked.push(place.value.seq),
    goTo: (seq, past = false) => {
      place.value = {seq, past};
    },
  };
}

beforeEach(() => {
  mock.timers.enable({apis: ["setTimeout"]});
  globalThis.document = {hidden: false};
  asked = [];
});

afterEach(() => {
  mock.timers.reset();
  delete globalThis.document;
});

test("a current answer is not asked again", () => {
  session = sessionAt({playing: false});
  followWhy(session);
  mock.timers.tick(600_000);
  assert.deepEqual(asked, []);
});

test("a newer event repeats the question once", () => {
  session = sessionAt({playing: false});
  followWhy(session);
  session.goTo(11);
  session.goTo(12);
  mock.timers.tick(600_000);
  assert.deepEqual(asked, [12]);
});

test("a playing run does not postpone the next question", () => {
  session = sessionAt({playing: true});
  followWhy(session);
  for (let seq = 11; seq < 61; seq += 1) {
    session.goTo(seq);
    mock.timers.tick(1000);
  }
  assert.ok(asked.length > 0);
});

test("a hidden page asks nothing", () => {
  session = sessionAt({playing: false});
  followWhy(session);
  globalThis.document.hidden = true;
  session.goTo(11);
  mock.timers.tick(600_000);
  assert.deepEqual(asked, []);
});

test("a question that was never asked is not repeated", () => {
  session = sessionAt({playing: false});
  session.why.held.value = null;
  followWhy(session);
  session.goTo(11);
  mock.timers.tick(600_000);
  assert.deepEqual(asked, []);
});

test("forgetting the answer cancels the question", () => {
  session = sessionAt({playing: false});
  followWhy(session);
  session.goTo(11);
  session.why.held.value = null;
  mock.timers.tick(600_000);
  assert.deepEqual(asked, []);
});

test("an answer under way is dropped with its selection", () => {
  session = sessionAt({playing: false});
  session.why.held.value = {id: ID, seq: null, status: "loading"};
  followWhy(session);
  session.goTo(11);
  assert.equal(session.why.held.value.status, "loading");
  session.chosen.value = "pod/shop/web-2";
  assert.equal(session.why.held.value, null);
});

test("an answer under way is dropped with its event", () => {
  session = sessionAt({playing: false});
  session.goTo(7, true);
  session.why.held.value = {id: ID, seq: 7, status: "loading"};
  followWhy(session);
  session.goTo(6, true);
  assert.equal(session.why.held.value, null);
});

test("a finished trial asks what came of it", () => {
  session = sessionAt({playing: true});
  session.why.held.value = null;
  session.run.value = {status: "playing", trial: {object: ID, node: "", at: 12, by: 12}};
  followWhy(session);
  session.goTo(12);
  assert.deepEqual(asked, []);
  session.run.value = {...session.run.value, status: "paused"};
  assert.deepEqual(asked, [12]);
});
