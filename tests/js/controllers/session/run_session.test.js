import assert from "node:assert/strict";
import {afterEach, beforeEach, test} from "node:test";

import {effect} from "@preact/signals";

import {RunSession} from "../../../../static/js/controllers/session/run_session.js";

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

  get(path, params) {
    if (path === "events/") {
      const {after, limit} = params;
      return Promise.resolve({items: EVENTS.filter(({seq}) => seq > after).slice(0, limit)});
    }
    if (path === "counters/") return Promise.resolve({since: 0, samples: [[0, 0, 0, 0, 0]]});
    return Promise.resolve({});
  }

  async parts(path, params, signal, onPart) {
    assert.equal(path, "state/");
    const part = await new Promise((resolve, reject) => {
      signal?.addEventListener("abort", () => reject(Object.assign(new Error(), {name: "AbortError"})));
      const seq = params.to ?? params.seq ?? Math.floor(params.at / 1e9);
      const state = seq > 0 ? {"pod/a/p": {attempts: seq}} : {};
      const changes = seq > 0 ? state : {"pod/a/p": null};
      const content = params.from === undefined ? {state} : {origin: params.from, changes};
      this.waiting.push({resolve: () => resolve({seq, at: seq * 1e9, events: [], ...content}), reject});
    });
    await onPart(part);
  }

  post(path, body) {
    this.posted.push(body);
    return Promise.resolve({status: "paused"});
  }

  release() {
    for (const {resolve} of this.waiting.splice(0)) resolve();
  }
}

// A hidden page does not wait for frames.
globalThis.document = {hidden: true};

let session, api;
let left = [];

beforeEach(() => {
  api = new FakeApi();
  left = [];
  session = sessionAt(null);
  session.live.model.reset({seq: LENGTH, at: LENGTH * 1e9, state: {}, events: []});
  session.live.ready.value = true;
});

const asked = () => session.model.seq;

/** A page that is opened at this event, before the state of the run is there. */
function opened(seq) {
  globalThis.WebSocket = class extends EventTarget {
    close() {}
  };
  return sessionAt(seq);
}

function sessionAt(seq) {
  const run = {id: 7, status: "paused", head: LENGTH, head_at: LENGTH * 1e9};
  const address = {seq, pod: null, write() {}, open: (href) => left.push(href)};
  return new RunSession({run, api, streamUrl: "wss://kscope.example/ws/runs/7/", address});
}

afterEach(() => {
  session.live.stream.close();
  clearTimeout(session.commands.settleTimer);
});

test("a page shows nothing before its state is loaded", async () => {
  session = opened(40);
  const started = session.start();
  assert.equal(session.isWaiting, true);
  assert.equal(session.model.entities.size, 0);
  assert.equal(session.selected(), null);
  assert.deepEqual(session.place, {seq: 40, past: true});
  api.release();
  await started;
  assert.equal(session.isWaiting, false);
  assert.equal(asked(), 40);
});

test("the requested state is loaded before the newest", async () => {
  session = opened(40);
  const started = session.start();
  assert.equal(session.live.stream.isOpen, false);
  api.release();
  await started;
  assert.equal(session.live.stream.isOpen, true);
});

test("an unreadable event is not replaced by the newest", async () => {
  session = opened(40);
  const started = session.start();
  api.waiting[0].reject(new Error("the run has events 1 to 30"));
  await started;
  assert.equal(session.isWaiting, true);
  assert.equal(session.playhead.opening.value.problem, "the run has events 1 to 30");
  const again = session.playhead.open();
  api.waiting[1].resolve();
  await again;
  assert.equal(asked(), 40);
});

test("links keep the event being opened", () => {
  session = opened(40);
  assert.equal(session.href("machines"), "/runs/7/machines/?seq=40");
});

test("links in the past keep the default selection", async () => {
  session.playhead.seek({seq: 10});
  api.release();
  await session.playhead.arriving;
  assert.equal(session.href("timeline"), "/runs/7/timeline/?pod=a/p&seq=10");
});

test("links at the newest event keep only picked objects", () => {
  assert.equal(session.href("timeline"), "/runs/7/timeline/");
  session.pick("pod/a/p");
  assert.equal(session.href("timeline"), "/runs/7/timeline/?pod=a/p");
});

test("the back button restores the place in the address", async () => {
  session.address.read = () => ({seq: 12, pod: "pod/a/p", claim: null, volume: null});
  session.revisit();
  api.release();
  await session.playhead.arriving;
  assert.equal(asked(), 12);
  assert.equal(session.selection.pod.value, "pod/a/p");
  session.address.read = () => ({seq: null, pod: null, claim: null, volume: null});
  session.revisit();
  assert.deepEqual(session.place, {seq: LENGTH, past: false});
});

test("going back during a seek drops that seek", async () => {
  const first = session.playhead.seek({seq: 40});
  api.release();
  await first;
  session.playhead.seek({seq: 9}, {isJump: true});
  session.address.read = () => ({seq: 40, pod: null, claim: null, volume: null});
  session.revisit();
  api.release();
  await session.playhead.arriving;
  assert.equal(asked(), 40);
});

test("showing what is shown asks for nothing", async () => {
  const first = session.playhead.seek({seq: 40});
  api.release();
  await first;
  session.playhead.show(40);
  assert.equal(api.waiting.length, 0);
});

test("a destructive command waits for confirmation", async () => {
  const command = {verb: "delete", object: "pod/a/p"};
  const refused = session.commands.send(command);
  session.commands.asking.value.answer(false);
  assert.equal(await refused, false);
  assert.deepEqual(api.posted, []);
  const agreed = session.commands.send(command);
  assert.equal(session.commands.asking.value.title, "Delete a/p?");
  session.commands.asking.value.answer(true);
  assert.equal(await agreed, true);
  assert.deepEqual(api.posted, [command]);
  assert.equal(session.commands.asking.value, null);
});

test("a safe request can be retried", async () => {
  const failing = Object.assign(new Error("The server could not be reached."), {again: true});
  api.post = () => Promise.reject(failing);
  await session.commands.send({verb: "cordon", object: "node/n"});
  assert.equal(session.notices.message.value, failing.message);
  api.post = FakeApi.prototype.post;
  await session.notices.again.value.retry();
  assert.deepEqual(api.posted, [{verb: "cordon", object: "node/n"}]);
  api.post = () => Promise.reject(Object.assign(new Error("gone"), {again: false}));
  await session.playhead.stepEvent();
  assert.equal(session.notices.again.value, null);
});

test("a step during a seek starts from its target", async () => {
  session.playhead.seek({seq: 0});
  const stepped = session.playhead.stepEvent();
  api.release();
  await stepped;
  assert.equal(asked(), 1);
  assert.deepEqual(api.posted, []);
});

test("fast steps are all taken in order", async () => {
  session.playhead.seek({seq: 10});
  session.playhead.stepEvent();
  session.playhead.stepEvent();
  const stepped = session.playhead.stepEvent();
  api.release();
  await stepped;
  assert.equal(asked(), 13);
});

test("effects on the place run at every step", async () => {
  const seen = [];
  const end = effect(() => void seen.push(session.place.seq));
  const sought = session.playhead.seek({seq: 10});
  api.release();
  await sought;
  await session.playhead.stepEvent();
  await session.playhead.stepEvent();
  end();
  assert.deepEqual(seen, [LENGTH, 10, 11, 12]);
});

test("a step does not move a later seek", async () => {
  session.playhead.seek({seq: 10});
  const stepped = session.playhead.stepEvent();
  const arrived = session.playhead.seek({seq: 50});
  api.release();
  await Promise.all([stepped, arrived]);
  assert.equal(asked(), 50);
});

test("a step after a seek that failed does nothing", async () => {
  session.playhead.seek({seq: 0});
  const stepped = session.playhead.stepEvent();
  api.waiting[0].reject(new Error("the server answered 500"));
  await stepped;
  assert.equal(asked(), LENGTH);
  assert.deepEqual(api.posted, []);
  assert.equal(session.notices.message.value, "the server answered 500");
});

test("what is said during a seek stays after it", async () => {
  session.notices.say("an older notice");
  const sought = session.playhead.seek({seq: 10});
  assert.equal(session.notices.message.value, "");
  session.notices.say("“soon” is not a time");
  api.release();
  await sought;
  assert.equal(session.notices.message.value, "“soon” is not a time");
});

test("pressing play during a seek replays recorded events", async () => {
  session.playhead.seek({seq: 0});
  const pressed = session.playhead.togglePlay();
  session.playhead.jumpToNewest();
  await pressed;
  assert.deepEqual(api.posted, []);
});

test("at the newest event the engine steps", async () => {
  await session.playhead.stepEvent();
  clearTimeout(session.commands.settleTimer);
  assert.deepEqual(api.posted, [{action: "step", unit: "event"}]);
});

test("a cycle step ends at the next cycle", async () => {
  const arrived = session.playhead.seek({seq: 5});
  api.release();
  await arrived;
  await session.playhead.stepCycle();
  assert.equal(session.model.entities.get("queue").cycle, 1);
  await session.playhead.stepCycle();
  assert.deepEqual([asked(), session.model.entities.get("queue").cycle], [9, 2]);
});

test("two fast steps back go back two events", async () => {
  session.playhead.seek({seq: 30});
  session.playhead.stepBack();
  const stepped = session.playhead.stepBack();
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

test("a rejected command stops those after it", async () => {
  const [first, second] = [
    {verb: "uncordon", object: "node/n"},
    {verb: "patch", object: "pod/a/p", patch: {}},
  ];
  await session.commands.sendAll([first, second]);
  assert.deepEqual(api.posted, [first, second]);
  api.posted = [];
  api.post = (path, body) => {
    api.posted.push(body);
    return Promise.resolve({status: "rejected", reason: "no such node"});
  };
  await session.commands.sendAll([first, second]);
  assert.deepEqual(api.posted, [first]);
  assert.equal(session.notices.message.value, "no such node");
});

test("a run of another version is run again", async () => {
  api.post = (path, body) => {
    api.posted.push(body);
    return Promise.resolve({id: 8});
  };
  await session.commands.repeat();
  assert.deepEqual(api.posted, [{afresh: true}]);
  assert.deepEqual(left, ["/runs/8/"]);
});

test("a recording is played from its beginning", async () => {
  globalThis.requestAnimationFrame = (draw) => setTimeout(draw);
  session.run.value = {...session.run.value, is_recorded: true, speed: "max"};
  const played = session.playhead.togglePlay();
  assert.deepEqual(session.playhead.aim.value, {seq: 0});
  api.release();
  await played;
  assert.equal(session.playhead.replaying.value, true);
  const met = [];
  effect(() => met.push(session.place.seq));
  while (session.place.past) await new Promise((done) => setTimeout(done));
  assert.equal(met[0], 0);
  assert.equal(asked(), LENGTH);
  assert.deepEqual(api.posted, []);
  delete globalThis.requestAnimationFrame;
});

test("nothing follows the end of a recording", async () => {
  session.run.value = {...session.run.value, is_recorded: true};
  await session.playhead.stepEvent();
  await session.playhead.stepCycle();
  assert.deepEqual(api.posted, []);
  assert.equal(asked(), LENGTH);
});
