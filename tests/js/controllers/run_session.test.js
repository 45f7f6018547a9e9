import assert from "node:assert/strict";
import {afterEach, beforeEach, test} from "node:test";

import {Board} from "../../../static/js/controllers/board.js";

const LENGTH = 100;
const EVENTS = Array.from({length: LENGTH}, (_, i) => ({
  seq: i + 1,
  at: (i + 1) * 1e9,
  kind: "PodUpdated",
  object: "pod/a/p",
  changes: {"pod/a/p": {attempts: i + 1}, queue: {cycle: Math.floor(i / 4)}},
}));

/** A server whose answers about the state of the run come when `release` is called. */
class FakeApi {
  posted = [];
  waiting = [];

  get(path, params, signal) {
    if (path === "events/") {
      const {after, limit} = params;
      return Promise.resolve({events: EVENTS.filter(({seq}) => seq > after).slice(0, limit)});
    }
    if (path === "counters/") return Promise.resolve({since: 0, samples: [[0, 0, 0, 0, 0]]});
    if (path !== "state/") return Promise.resolve({});
    return new Promise((resolve, reject) => {
      signal?.addEventListener("abort", () => reject(Object.assign(new Error(), {name: "AbortError"})));
      const {seq} = params;
      const state = seq > 0 ? {"pod/a/p": {attempts: seq}} : {};
      this.waiting.push({resolve: () => resolve({seq, at: seq * 1e9, state, events: []}), reject});
    });
  }

  post(path, body) {
    this.posted.push(body);
    return Promise.resolve({status: "paused"});
  }

  release() {
    for (const {resolve} of this.waiting.splice(0)) resolve();
  }
}

let board, api;

beforeEach(() => {
  api = new FakeApi();
  const address = {seq: null, pod: null, write() {}};
  board = new Board({run: {id: 7, status: "paused", head: LENGTH, head_at: LENGTH * 1e9}, api, address});
  board.live.reset({seq: LENGTH, at: LENGTH * 1e9, state: {}, events: []});
  board.ready.value = true;
});

const asked = () => board.model.seq;

/** A page that is opened at this event, before the state of the run is there. */
function opened(seq) {
  globalThis.WebSocket = class extends EventTarget {
    close() {}
  };
  globalThis.location = {href: "https://kscope.example/runs/7/", protocol: "https:", search: `?seq=${seq}`};
  const address = {seq, pod: null, write() {}};
  return new Board({run: {id: 7, status: "paused", head: LENGTH, head_at: LENGTH * 1e9}, api, address});
}

afterEach(() => {
  board.stream.close();
  clearTimeout(board.settleTimer);
});

test("a page opened at an event shows nothing before its state is there", async () => {
  board = opened(40);
  const started = board.start();
  assert.equal(board.isWaiting, true);
  assert.equal(board.model.entities.size, 0);
  assert.equal(board.selected(), null);
  assert.deepEqual(board.place, {seq: 40, past: true});
  api.release();
  await started;
  assert.equal(board.isWaiting, false);
  assert.equal(asked(), 40);
});

test("the newest state is asked for after the one wanted", async () => {
  board = opened(40);
  const started = board.start();
  assert.equal(board.stream.isOpen, false);
  api.release();
  await started;
  assert.equal(board.stream.isOpen, true);
});

test("an event that cannot be read is not replaced by the newest", async () => {
  board = opened(40);
  const started = board.start();
  api.waiting[0].reject(new Error("the run has events 1 to 30"));
  await started;
  assert.equal(board.isWaiting, true);
  assert.equal(board.opening.value.problem, "the run has events 1 to 30");
  const again = board.open();
  api.waiting[1].resolve();
  await again;
  assert.equal(asked(), 40);
});

test("links lead to the event that a page is being opened at", () => {
  board = opened(40);
  assert.equal(board.href("machines"), "/runs/7/machines/?seq=40");
});

test("links in the past keep a selection that nobody picked", async () => {
  board.seek({seq: 10});
  api.release();
  await board.arriving;
  assert.equal(board.href("timeline"), "/runs/7/timeline/?pod=a/p&seq=10");
});

test("links at the newest event name what was picked alone", () => {
  assert.equal(board.href("timeline"), "/runs/7/timeline/");
  board.pick("pod/a/p");
  assert.equal(board.href("timeline"), "/runs/7/timeline/?pod=a/p");
});

test("the back button leads to the place that the address names", async () => {
  board.address.read = () => ({seq: 12, pod: "pod/a/p", claim: null, volume: null});
  board.revisit();
  api.release();
  await board.arriving;
  assert.equal(asked(), 12);
  assert.equal(board.picked.value, "pod/a/p");
  board.address.read = () => ({seq: null, pod: null, claim: null, volume: null});
  board.revisit();
  assert.deepEqual(board.place, {seq: LENGTH, past: false});
});

test("a destructive command waits for a yes", async () => {
  const command = {verb: "delete", object: "pod/a/p"};
  const refused = board.command(command);
  board.asking.value.answer(false);
  assert.equal(await refused, false);
  assert.deepEqual(api.posted, []);
  const agreed = board.command(command);
  assert.equal(board.asking.value.title, "Delete a/p?");
  board.asking.value.answer(true);
  assert.equal(await agreed, true);
  assert.deepEqual(api.posted, [command]);
  assert.equal(board.asking.value, null);
});

test("what failed may be tried again where that is safe", async () => {
  const failing = Object.assign(new Error("The server could not be reached."), {again: true});
  api.post = () => Promise.reject(failing);
  await board.command({verb: "cordon", object: "node/n"});
  assert.equal(board.notice.value, failing.message);
  api.post = FakeApi.prototype.post;
  await board.again.value.retry();
  assert.deepEqual(api.posted, [{verb: "cordon", object: "node/n"}]);
  api.post = () => Promise.reject(Object.assign(new Error("gone"), {again: false}));
  await board.stepEvent();
  assert.equal(board.again.value, null);
});

test("a step pressed while a seek is on its way is taken from where it leads", async () => {
  board.seek({seq: 0});
  const stepped = board.stepEvent();
  api.release();
  await stepped;
  assert.equal(asked(), 1);
  assert.deepEqual(api.posted, []);
});

test("steps pressed faster than the server answers are all taken", async () => {
  board.seek({seq: 10});
  board.stepEvent();
  board.stepEvent();
  const stepped = board.stepEvent();
  api.release();
  await stepped;
  assert.equal(asked(), 13);
});

test("a step before a second seek does not move what that one reaches", async () => {
  board.seek({seq: 10});
  const stepped = board.stepEvent();
  const arrived = board.seek({seq: 50});
  api.release();
  await Promise.all([stepped, arrived]);
  assert.equal(asked(), 50);
});

test("a step after a seek that failed does nothing", async () => {
  board.seek({seq: 0});
  const stepped = board.stepEvent();
  api.waiting[0].reject(new Error("the server answered 500"));
  await stepped;
  assert.equal(asked(), LENGTH);
  assert.deepEqual(api.posted, []);
  assert.equal(board.notice.value, "the server answered 500");
});

test("play pressed while a seek is on its way does not play the run itself", async () => {
  board.seek({seq: 0});
  const pressed = board.togglePlay();
  board.jumpToNewest();
  await pressed;
  assert.deepEqual(api.posted, []);
});

test("at the newest event a step is asked of the engine", async () => {
  await board.stepEvent();
  clearTimeout(board.settleTimer);
  assert.deepEqual(api.posted, [{action: "step", unit: "event"}]);
});

test("a cycle goes on to the event that begins the next one", async () => {
  const arrived = board.seek({seq: 5});
  api.release();
  await arrived;
  await board.stepCycle();
  assert.equal(board.model.entities.get("queue").cycle, 1);
  await board.stepCycle();
  assert.deepEqual([asked(), board.model.entities.get("queue").cycle], [9, 2]);
});

test("two steps back pressed at once go back two events", async () => {
  board.seek({seq: 30});
  board.stepBack();
  const stepped = board.stepBack();
  api.release();
  while (asked() !== 28) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    api.release();
  }
  await stepped;
  assert.equal(asked(), 28);
});

test("two changes are sent one after the other, up to the first that is refused", async () => {
  const [first, second] = [
    {verb: "uncordon", object: "node/n"},
    {verb: "patch", object: "pod/a/p", patch: {}},
  ];
  await board.commands([first, second]);
  assert.deepEqual(api.posted, [first, second]);
  api.posted = [];
  api.post = (path, body) => {
    api.posted.push(body);
    return Promise.resolve({status: "rejected", reason: "no such node"});
  };
  await board.commands([first, second]);
  assert.deepEqual(api.posted, [first]);
  assert.equal(board.notice.value, "no such node");
});

test("a run of another version is repeated from its beginning", async () => {
  globalThis.location = {assign: () => {}};
  await board.repeat();
  assert.deepEqual(api.posted, [{afresh: true}]);
});
