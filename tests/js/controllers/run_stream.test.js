import assert from "node:assert/strict";
import {afterEach, beforeEach, mock, test} from "node:test";

import {RunStream} from "../../../static/js/controllers/run_stream.js";

let sockets;

class FakeSocket extends EventTarget {
  constructor(url) {
    super();
    this.url = new URL(url);
    this.closed = false;
    this.sent = [];
    sockets.push(this);
  }

  say(message) {
    this.dispatchEvent(Object.assign(new Event("message"), {data: JSON.stringify(message)}));
  }

  send(text) {
    this.sent.push(JSON.parse(text));
  }

  close() {
    this.closed = true;
    this.dispatchEvent(new Event("close"));
  }
}

beforeEach(() => {
  sockets = [];
  globalThis.WebSocket = FakeSocket;
  mock.timers.enable({apis: ["setTimeout"]});
});

afterEach(() => {
  mock.timers.reset();
  delete globalThis.WebSocket;
});

function open() {
  const heard = {messages: [], states: [], seq: null};
  const stream = new RunStream({
    url: "wss://kscope.example/ws/runs/7/",
    after: () => heard.seq,
    onMessage: (message) => heard.messages.push(message),
    onState: (state) => heard.states.push(state),
  });
  stream.open();
  return {stream, heard};
}

test("the first connection asks for everything", () => {
  open();
  assert.equal(sockets[0].url.href, "wss://kscope.example/ws/runs/7/");
});

test("a lost connection comes back after the newest seq", () => {
  const {heard} = open();
  sockets[0].say({type: "snapshot"});
  heard.seq = 812;
  sockets[0].close();
  assert.deepEqual(heard.states, ["connecting", "open", "waiting"]);
  mock.timers.tick(400);
  assert.equal(sockets.length, 2);
  assert.equal(sockets[1].url.searchParams.get("after"), "812");
});

test("reconnecting backs off to 8 s at most", () => {
  open();
  for (let i = 0; i < 12; i += 1) {
    sockets.at(-1).close();
    mock.timers.tick(8000);
  }
  assert.equal(sockets.length, 13);
  sockets.at(-1).close();
  mock.timers.tick(3900);
  assert.equal(sockets.length, 13);
});

test("resuming drops what the old connection still says", () => {
  const {stream, heard} = open();
  heard.seq = 5;
  stream.resume();
  sockets[0].say({type: "frame"});
  sockets[1].say({type: "frame", first: 6});
  assert.deepEqual(heard.messages, [{type: "frame", first: 6}]);
  assert.equal(sockets[0].closed, true);
});

test("a closed stream stays closed", () => {
  const {stream} = open();
  stream.close();
  mock.timers.tick(60000);
  assert.equal(sockets.length, 1);
});

test("a run that was deleted is not asked for again", () => {
  const {heard} = open();
  sockets[0].dispatchEvent(Object.assign(new Event("close"), {code: 4404}));
  mock.timers.tick(60000);
  assert.equal(sockets.length, 1);
  assert.equal(heard.states.at(-1), "gone");
});

test("a connection that goes silent is given up after five seconds", () => {
  const {heard} = open();
  sockets[0].say({type: "snapshot"});
  heard.seq = 812;
  mock.timers.tick(4900);
  assert.equal(heard.states.at(-1), "open");
  mock.timers.tick(200);
  assert.equal(heard.states.at(-1), "waiting");
  assert.equal(sockets[0].closed, true);
  mock.timers.tick(400);
  assert.equal(sockets[1].url.searchParams.get("after"), "812");
});

test("a heartbeat keeps the connection and is answered", () => {
  const {heard} = open();
  sockets[0].say({type: "snapshot"});
  for (let i = 0; i < 20; i += 1) {
    mock.timers.tick(2000);
    sockets[0].say({type: "heartbeat"});
  }
  assert.equal(sockets.length, 1);
  assert.equal(heard.states.at(-1), "open");
  assert.equal(sockets[0].sent.length, 20);
  assert.deepEqual(heard.messages, [{type: "snapshot"}]);
});

test("a snapshot that takes long gets ever more time", () => {
  open();
  mock.timers.tick(5000);
  mock.timers.tick(400);
  assert.equal(sockets.length, 2);
  mock.timers.tick(9900);
  assert.equal(sockets.length, 2);
  sockets[1].say({type: "snapshot"});
  mock.timers.tick(4900);
  assert.equal(sockets[1].closed, false);
  mock.timers.tick(200);
  assert.equal(sockets[1].closed, true);
});

test("a server that cannot read the run is not called live", () => {
  const {heard} = open();
  sockets[0].say({type: "snapshot"});
  sockets[0].say({type: "heartbeat", stalled: true});
  assert.equal(heard.states.at(-1), "stalled");
  sockets[0].say({type: "heartbeat"});
  assert.equal(heard.states.at(-1), "open");
});

test("what a given up connection says later is not heard", () => {
  const {heard} = open();
  sockets[0].say({type: "snapshot"});
  mock.timers.tick(5000);
  sockets[0].say({type: "frame"});
  assert.deepEqual(heard.messages, [{type: "snapshot"}]);
});
