import assert from "node:assert/strict";
import {test} from "node:test";

import {signal} from "@preact/signals";

import {Commands} from "../../../../static/js/controllers/session/commands.js";
import {Notices} from "../../../../static/js/controllers/session/notices.js";

const FINISHED = {status: "finished", head: 7};
const PLAYING = {status: "playing", head: 7};

/** The notice after `body` was sent to a run in state `before`, which the server then reads as `states`. */
async function noticeAfter(t, body, before, states) {
  t.mock.timers.enable({apis: ["setTimeout"]});
  const answers = [...states];
  const api = {post: async () => PLAYING, get: async () => answers.shift()};
  const notices = new Notices();
  const commands = new Commands({api, run: signal(before), notices});
  await commands.transport(body);
  while (answers.length > 0) {
    t.mock.timers.tick(1000);
    await new Promise(setImmediate);
  }
  return notices.message.value;
}

test("Play on a finished run says that nothing more is due", async (t) => {
  assert.match(await noticeAfter(t, {action: "play"}, FINISHED, [FINISHED]), /nothing more is due/);
});

test("it says so as well when the run takes a while to finish again", async (t) => {
  assert.match(await noticeAfter(t, {action: "step"}, FINISHED, [PLAYING, PLAYING, FINISHED]), /nothing more/);
});

test("a finished run that has more to do just plays", async (t) => {
  assert.equal(await noticeAfter(t, {action: "play"}, FINISHED, [{status: "finished", head: 9}]), "");
});

test("a paused run that plays to its end says nothing", async (t) => {
  const paused = {status: "paused", head: 7};
  assert.equal(await noticeAfter(t, {action: "play"}, paused, [FINISHED]), "");
});

test("changing the speed of a finished run says nothing", async (t) => {
  assert.equal(await noticeAfter(t, {action: "speed", speed: "max"}, FINISHED, [FINISHED]), "");
});
