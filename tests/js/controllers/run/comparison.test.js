import assert from "node:assert/strict";
import {test} from "node:test";

import {signal} from "@preact/signals";

import {Comparison} from "../../../../static/js/controllers/run/comparison.js";

const rest = (ms = 100) =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

/** A run at its newest event, 9 s, whose server answers when it is let. */
function setUp() {
  const asked = [];
  const past = signal(null);
  const session = {
    isWaiting: false,
    run: signal({status: "finished"}),
    get model() {
      return past.value?.model ?? {seq: 20, at: 9e9};
    },
    playhead: {past},
    api: {
      get: (path, {at}) =>
        new Promise((resolve) => {
          asked.push({
            at,
            answer: () => resolve({at: at ?? 9e9, shared: 3, a: {}, b: {}, events: {rows: [], next: null}}),
          });
        }),
    },
  };
  const comparison = new Comparison(session, 2);
  comparison.start();
  const lookAt = (at) => {
    past.value = {model: {seq: 7, at}};
  };
  return {comparison, asked, lookAt};
}

test("an answer that comes late replaces no newer one", async () => {
  const {comparison, asked, lookAt} = setUp();
  await rest();
  lookAt(4e9);
  await rest();
  assert.deepEqual(
    asked.map(({at}) => at),
    [null],
  );
  asked[0].answer();
  await rest();
  asked[1].answer();
  await rest();
  assert.deepEqual([asked[1].at, comparison.result.value.at, asked.length], [4e9, 4e9, 2]);
});

test("moments passed during a question are not asked", async () => {
  const {asked, lookAt} = setUp();
  await rest();
  for (const at of [1e9, 2e9, 3e9]) lookAt(at);
  asked[0].answer();
  await rest();
  assert.deepEqual(
    asked.map(({at}) => at),
    [null, 3e9],
  );
});
