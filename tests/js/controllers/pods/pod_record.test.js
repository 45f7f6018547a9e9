import assert from "node:assert/strict";
import {afterEach, beforeEach, mock, test} from "node:test";

import {signal} from "@preact/signals";

import {PodRecord} from "../../../../static/js/controllers/pods/pod_record.js";

const id = "pod/a/web";
const ATTEMPTS = [
  {id: 3, number: 3, seq: 30},
  {id: 2, number: 2, seq: 20},
  {id: 1, number: 1, seq: 10},
];

let place, failing, isSlow;

beforeEach(() => {
  mock.timers.enable({apis: ["setTimeout"]});
  [failing, isSlow] = [false, false];
  place = signal({seq: 35, past: true});
});

afterEach(() => mock.timers.reset());

/** A record of a pod whose attempts ended at events 10, 20 and 30. */
function record() {
  const pod = {attempts: 3};
  const session = {
    isWaiting: false,
    get place() {
      return place.value;
    },
    get model() {
      return {seq: place.value.seq, entities: new Map([[id, pod]])};
    },
    notices: {show() {}},
    api: {
      get: async (path, {seq} = {}) => {
        if (failing) throw new Error("The server could not be reached.");
        if (path === "attempts/") return {items: ATTEMPTS.filter((attempt) => seq === null || attempt.seq <= seq)};
        if (path === "events/") return {items: [], continue: null};
        return isSlow ? new Promise(() => {}) : {number: Number(path.split("/")[1])};
      },
    },
  };
  const made = new PodRecord({session, id, attempt: null});
  made.follow();
  return made;
}

async function settle() {
  for (let i = 0; i < 5; i += 1) {
    mock.timers.tick(200);
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}

const numbers = ({attempts}) => attempts.value.map(({number}) => number);

test("attempts being loaded are not called missing", async () => {
  const pod = record();
  assert.equal(pod.reading.value.status, "loading");
  await settle();
  assert.deepEqual(numbers(pod), [3, 2, 1]);
  assert.deepEqual(pod.reading.value, {status: "ready", evidence: {number: 3}});
});

test("an earlier event never shows a later attempt", async () => {
  const pod = record();
  await settle();
  place.value = {seq: 15, past: true};
  assert.deepEqual(numbers(pod), [1]);
  assert.equal(pod.held.value, null);
  await settle();
  assert.equal(pod.held.value.evidence.number, 1);
});

test("a later event waits for its attempts", async () => {
  place.value = {seq: 15, past: true};
  const pod = record();
  await settle();
  place.value = {seq: 25, past: true};
  assert.deepEqual(numbers(pod), []);
  assert.equal(pod.reading.value.status, "loading");
  await settle();
  assert.deepEqual(numbers(pod), [2, 1]);
});

test("a playing run keeps showing the known attempt", async () => {
  place.value = {seq: 25, past: false};
  const pod = record();
  await settle();
  assert.deepEqual(numbers(pod), [2, 1]);
  place.value = {seq: 26, past: false};
  assert.deepEqual(numbers(pod), [2, 1]);
});

test("a failed request can be repeated", async () => {
  failing = true;
  const pod = record();
  await settle();
  assert.equal(pod.reading.value.status, "failed");
  failing = false;
  pod.retry();
  await settle();
  assert.equal(pod.reading.value.status, "ready");
});

test("what depends on it is shown once all was read", async () => {
  const pod = record();
  const seen = [];
  pod.isOpen.subscribe((isOpen) => seen.push([isOpen, pod.reading.value.status]));
  await settle();
  assert.deepEqual(seen, [
    [false, "loading"],
    [true, "ready"],
  ]);
  place.value = {seq: 15, past: true};
  assert.equal(pod.isOpen.value, true);
});

test("evidence that takes long does not hold back the rest", async () => {
  isSlow = true;
  const pod = record();
  await settle();
  assert.equal(pod.isOpen.value, false);
  mock.timers.tick(1000);
  assert.equal(pod.isOpen.value, true);
  assert.equal(pod.reading.value.status, "loading");
});

test("a failure does not hold back the rest either", async () => {
  failing = true;
  const pod = record();
  await settle();
  assert.equal(pod.isOpen.value, true);
});
