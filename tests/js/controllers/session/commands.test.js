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

/** Commands whose forks have the number 9, and the paths that are asked for; `fetch` refuses what is said to be. */
function forking(t, refused = "") {
  const asked = [];
  t.mock.method(globalThis, "fetch", async (url, {method}) => {
    const path = `${method} ${url.split("/runs/9/")[1]}`;
    asked.push(path);
    if (path === refused) return new Response('{"detail": "Invalid: no such node"}', {status: 409});
    return new Response(method === "DELETE" ? null : "{}", {status: method === "DELETE" ? 204 : 200});
  });
  globalThis.document ??= /** @type {any} */ ({cookie: "csrftoken=x"});
  const opened = [];
  const api = {post: async (path, body) => asked.push(`${path} after ${body.seq}`) && {id: 9}};
  const commands = new Commands({
    api,
    run: signal({...PLAYING, name: "one"}),
    address: {open: (href) => opened.push(href)},
    notices: new Notices(),
    onSent: () => {},
  });
  return {commands, asked, opened};
}

test("What is done in a fork is played there", async (t) => {
  const {commands, asked, opened} = forking(t);
  await commands.actInFork("edit", [{verb: "cordon", object: "node/n1"}], {seq: 4, id: "pod/shop/web"});
  assert.deepEqual(asked, ["fork/ after 4", "POST commands/", "POST transport/"]);
  assert.deepEqual(opened, ["/runs/9/pods/shop/web/"]);
});

test("a fork whose change is refused is not left", async (t) => {
  const {commands, asked, opened} = forking(t, "POST commands/");
  await assert.rejects(commands.actInFork("edit", [{verb: "cordon", object: "node/x"}], {seq: null}), /no such node/);
  assert.deepEqual([asked.at(-1), opened], ["DELETE ", []]);
});
