import assert from "node:assert/strict";
import {test} from "node:test";

import {evidenceAt, evidenceKey, evidenceWords} from "../../../static/js/model/evidence.js";

const id = "pod/a/web";
const pod = {attempts: 2, queue: "backoff"};
const evidence = {number: 2, seq: 40};
const held = {id, key: evidenceKey(id, pod), status: "ready", evidence};

test("what is on its way is not called not attempted", () => {
  const shown = evidenceAt(null, {id, pod, seq: 50, isPast: false});
  assert.equal(shown.status, "loading");
  assert.equal(evidenceWords(shown, "web"), "loading web's attempt…");
});

test("a pod without an attempt was not attempted", () => {
  const shown = evidenceAt(held, {id, pod: {queue: "active"}, seq: 3, isPast: true});
  assert.equal(evidenceWords(shown, "web"), "web has had no scheduling attempt yet");
});

test("evidence of a later event is not shown", () => {
  const before = {attempts: 1, queue: "backoff"};
  assert.equal(evidenceAt(held, {id, pod: before, seq: 20, isPast: true}).evidence, null);
  assert.equal(evidenceAt(held, {id, pod, seq: 39, isPast: false}).evidence, null);
});

test("only a playing run shows earlier attempts", () => {
  const later = {attempts: 3, queue: "backoff"};
  assert.deepEqual(evidenceAt(held, {id, pod: later, seq: 90, isPast: true}), {status: "loading", evidence: null});
  assert.deepEqual(evidenceAt(held, {id, pod: later, seq: 90, isPast: false}), {status: "loading", evidence});
});

test("evidence of another pod is not shown", () => {
  assert.equal(evidenceAt(held, {id: "pod/a/db", pod, seq: 50, isPast: false}).evidence, null);
});

test("what could not be read says so", () => {
  const failed = {...held, status: "failed", evidence: null, message: "gone"};
  const shown = evidenceAt(failed, {id, pod, seq: 50, isPast: true});
  assert.deepEqual(shown, {status: "failed", evidence: null, message: "gone"});
  assert.match(evidenceWords(shown, "web"), /could not be read/);
});

test("a first attempt under way has no evidence yet", () => {
  const shown = evidenceAt({...held, evidence: null}, {id, pod, seq: 50, isPast: false});
  assert.equal(evidenceWords(shown, "web"), "no scheduling attempt of web has finished yet");
});
