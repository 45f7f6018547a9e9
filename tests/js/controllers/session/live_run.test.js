import assert from "node:assert/strict";
import {afterEach, beforeEach, mock, test} from "node:test";

import {LiveRun} from "../../../../static/js/controllers/session/live_run.js";

let frames, live, drawn;

beforeEach(() => {
  frames = [];
  drawn = 0;
  globalThis.document = {hidden: false};
  globalThis.requestAnimationFrame = (callback) => frames.push(callback);
  globalThis.WebSocket = class extends EventTarget {
    close() {}
  };
  mock.timers.enable({apis: ["setTimeout"]});
  live = new LiveRun({
    run: {id: 7, status: "paused"},
    api: {get: () => Promise.resolve({since: 0, samples: [[0, 0, 0, 0, 0]], to: 0, counts: [], marks: []})},
    streamUrl: "wss://kscope.example/ws/runs/7/",
    notices: {guard: (what) => what()},
    onFold: () => {
      drawn += 1;
      live.ready.value = true;
    },
    onMore: () => {},
  });
});

afterEach(() => {
  live.stream.close();
  mock.timers.reset();
  for (const name of ["document", "requestAnimationFrame", "WebSocket"]) delete globalThis[name];
});

function hear(...messages) {
  for (const message of messages) live.stream.onMessage(message);
}

/** Draw frames until nothing asks for one. */
function drawAll() {
  while (frames.length > 0) frames.shift()();
}

const start = (seq, name, more) => ({type: "snapshot", seq, at: seq, state: {[`pod/a/${name}`]: {}}, events: [], more});
const part = (name, more) => ({type: "state", state: {[`pod/a/${name}`]: {}}, more});
const frame = (seq) => ({type: "frame", first: seq, last: seq, at: seq, changes: {}, events: []});
const pods = () => [...live.model.entities.keys()];

test("a state in parts is shown when it is whole", () => {
  hear(start(4, "p1", true), part("p2", true));
  drawAll();
  assert.deepEqual([pods(), drawn, live.ready.value], [[], 0, false]);
  hear(part("p3", false), frame(5));
  drawAll();
  assert.deepEqual(pods(), ["pod/a/p1", "pod/a/p2", "pod/a/p3"]);
  assert.equal(live.model.seq, 5);
});

test("a state that stays incomplete changes nothing", () => {
  hear(start(4, "p1", false));
  drawAll();
  hear(start(9, "p2", true), frame(5));
  drawAll();
  assert.deepEqual([pods(), live.model.seq], [["pod/a/p1"], 5]);
});

test("what takes long is folded over several frames", () => {
  const clock = mock.method(performance, "now", () => clock.mock.callCount() * 4);
  hear(start(4, "p1", true), part("p2", true), part("p3", true), part("p4", false));
  frames.shift()();
  assert.equal(frames.length, 1, "the rest waits for the next frame");
  drawAll();
  clock.mock.restore();
  assert.equal(pods().length, 4);
});

test("a hidden page folds everything at once", () => {
  globalThis.document.hidden = true;
  hear(start(4, "p1", true), part("p2", false));
  assert.deepEqual([pods(), frames.length], [["pod/a/p1", "pod/a/p2"], 0]);
});
