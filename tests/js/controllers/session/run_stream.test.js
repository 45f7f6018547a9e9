import assert from "node:assert/strict";
import {afterEach, beforeEach, mock, test} from "node:test";
import {deflateSync} from "node:zlib";

import {RunStream} from "../../../../static/js/controllers/session/run_stream.js";

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

  sayPacked(message) {
    this.sayBytes(deflateSync(JSON.stringify(message)));
  }

  sayBytes(bytes) {
    this.dispatchEvent(Object.assign(new Event("message"), {data: Uint8Array.from(bytes).buffer}));
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

test("the first connection requests everything, compressed", () => {
  open();
  assert.equal(sockets[0].url.href, "wss://kscope.example/ws/runs/7/?packed=deflate");
});

test("what follows a compressed snapshot waits for it", async () => {
  const {stream, heard} = open();
  sockets[0].sayPacked({type: "snapshot", seq: 4});
  sockets[0].say({type: "frame", first: 5});
  assert.deepEqual(heard.messages, []);
  await stream.unpacking;
  sockets[0].say({type: "frame", first: 6});
  assert.deepEqual(heard.messages, [
    {type: "snapshot", seq: 4},
    {type: "frame", first: 5},
    {type: "frame", first: 6},
  ]);
});

test("a compressed snapshot of a connection given up is dropped", async () => {
  const {stream, heard} = open();
  sockets[0].sayPacked({type: "snapshot"});
  const {unpacking} = stream;
  stream.resume();
  sockets[1].say({type: "frame", first: 6});
  await unpacking;
  assert.deepEqual(heard.messages, [{type: "frame", first: 6}]);
});

test("a snapshot that cannot be read is requested again", async () => {
  const {stream, heard} = open();
  sockets[0].sayBytes(new Uint8Array([1, 2, 3]));
  await stream.unpacking;
  assert.equal(heard.states.at(-1), "waiting");
  assert.deepEqual(heard.messages, []);
});

test("a lost connection resumes after the newest seq", () => {
  const {heard} = open();
  sockets[0].say({type: "snapshot"});
  heard.seq = 812;
  sockets[0].close();
  assert.deepEqual(heard.states, ["connecting", "open", "waiting"]);
  mock.timers.tick(400);
  assert.equal(sockets.length, 2);
  assert.equal(sockets[1].url.searchParams.get("after"), "812");
});

test("reconnecting slows down to every 8 s", () => {
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

test("resuming ignores the old connection", () => {
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

test("a deleted run is not requested again", () => {
  const {heard} = open();
  sockets[0].dispatchEvent(Object.assign(new Event("close"), {code: 4404}));
  mock.timers.tick(60000);
  assert.equal(sockets.length, 1);
  assert.equal(heard.states.at(-1), "gone");
});

test("a silent connection is closed after five seconds", () => {
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

test("a heartbeat is answered and keeps the connection", () => {
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

test("a slow snapshot gets more time each try", () => {
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

test("a stalled server is not shown as live", () => {
  const {heard} = open();
  sockets[0].say({type: "snapshot"});
  sockets[0].say({type: "heartbeat", stalled: true});
  assert.equal(heard.states.at(-1), "stalled");
  sockets[0].say({type: "heartbeat"});
  assert.equal(heard.states.at(-1), "open");
});

test("a closed connection is no longer heard", () => {
  const {heard} = open();
  sockets[0].say({type: "snapshot"});
  mock.timers.tick(5000);
  sockets[0].say({type: "frame"});
  assert.deepEqual(heard.messages, [{type: "snapshot"}]);
});
