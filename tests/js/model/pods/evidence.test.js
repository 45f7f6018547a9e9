import assert from "node:assert/strict";
import {test} from "node:test";

import {evidenceAt, evidenceKey, evidenceWords, sinceWords} from "../../../../static/js/model/pods/evidence.js";

const id = "pod/a/web";
const pod = {attempts: 2, queue: "backoff"};
const evidence = {number: 2, seq: 40};
const held = {id, key: evidenceKey(id, pod), status: "ready", evidence};

test("evidence being loaded is not called missing", () => {
  const shown = evidenceAt(null, {id, pod, seq: 50, isPast: false});
  assert.equal(shown.status, "loading");
  assert.equal(evidenceWords(shown, "web"), "loading web's attempt…");
});

test("a pod without an attempt was not attempted", () => {
  const shown = evidenceAt(held, {id, pod: {queue: "active"}, seq: 3, isPast: true});
  assert.equal(evidenceWords(shown, "web"), "web has had no scheduling attempt yet");
});

test("a pod that was bound without an attempt waits for none", () => {
  const shown = evidenceAt(null, {id, pod: {node: "n1"}, seq: 50, isPast: false});
  assert.equal(evidenceWords(shown, "web"), "web was bound without a scheduling attempt");
});

test("a shadow decision has evidence, although the pod counts no attempts", () => {
  const bound = {node: "n1", shadow: "agrees"};
  assert.notEqual(evidenceKey(id, bound), "");
  const shown = evidenceAt({id, key: evidenceKey(id, bound), status: "ready", evidence}, {id, pod: bound, seq: 50});
  assert.equal(shown.evidence, evidence);
  assert.equal(evidenceWords({evidence: {...evidence, cycle: 0}}, "web"), "filter results for web, shadow decision 2");
});

test("evidence of a later event is not shown", () => {
  const before = {attempts: 1, queue: "backoff"};
  assert.equal(evidenceAt(held, {id, pod: before, seq: 20, isPast: true}).evidence, null);
  assert.equal(evidenceAt(held, {id, pod, seq: 39, isPast: false}).evidence, null);
});

test("only a live run shows the earlier attempt meanwhile", () => {
  const later = {attempts: 3, queue: "backoff"};
  assert.deepEqual(evidenceAt(held, {id, pod: later, seq: 90, isPast: true}), {status: "loading", evidence: null});
  assert.deepEqual(evidenceAt(held, {id, pod: later, seq: 90, isPast: false}), {status: "loading", evidence});
});

test("evidence of another pod is not shown", () => {
  assert.equal(evidenceAt(held, {id: "pod/a/db", pod, seq: 50, isPast: false}).evidence, null);
});

test("a failed request is reported", () => {
  const failed = {...held, status: "failed", evidence: null, message: "gone"};
  const shown = evidenceAt(failed, {id, pod, seq: 50, isPast: true});
  assert.deepEqual(shown, {status: "failed", evidence: null, message: "gone"});
  assert.match(evidenceWords(shown, "web"), /could not be read/);
});

test("a first unfinished attempt has no evidence", () => {
  const shown = evidenceAt({...held, evidence: null}, {id, pod, seq: 50, isPast: false});
  assert.equal(evidenceWords(shown, "web"), "no scheduling attempt of web has finished yet");
});

test("evidence says how much happened since", () => {
  assert.equal(sinceWords({seq: 40}, {seq: 40}), "");
  assert.equal(sinceWords({seq: 40}, {seq: 41}), "1 event since then");
  assert.equal(sinceWords({seq: 40}, {seq: 1400}), "1,360 events since then");
});
