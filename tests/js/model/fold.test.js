import assert from "node:assert/strict";
import {test} from "node:test";

import {fold, foldInto, mergePatch, unfold} from "../../../static/js/model/fold.js";

// The examples of RFC 7386, appendix A: target, patch, result.
const RFC_7386 = [
  [{a: "b"}, {a: "c"}, {a: "c"}],
  [{a: "b"}, {b: "c"}, {a: "b", b: "c"}],
  [{a: "b"}, {a: null}, {}],
  [{a: "b", b: "c"}, {a: null}, {b: "c"}],
  [{a: ["b"]}, {a: "c"}, {a: "c"}],
  [{a: "c"}, {a: ["b"]}, {a: ["b"]}],
  [{a: {b: "c"}}, {a: {b: "d", c: null}}, {a: {b: "d"}}],
  [{a: [{b: "c"}]}, {a: [1]}, {a: [1]}],
  [
    ["a", "b"],
    ["c", "d"],
    ["c", "d"],
  ],
  [{a: "b"}, ["c"], ["c"]],
  [{a: "foo"}, null, null],
  [{a: "foo"}, "bar", "bar"],
  [{e: null}, {a: 1}, {e: null, a: 1}],
  [[1, 2], {a: "b", c: null}, {a: "b"}],
  [{}, {a: {bb: {ccc: null}}}, {a: {bb: {}}}],
];

test("a merge patch does what RFC 7386 says", () => {
  for (const [target, patch, result] of RFC_7386) {
    assert.deepEqual(mergePatch(target, patch), result, JSON.stringify({target, patch}));
  }
});

test("a merge patch copies only what it changes", () => {
  const target = Object.freeze({kept: Object.freeze({x: 1}), changed: Object.freeze({y: 1})});
  const merged = mergePatch(target, {changed: {y: 2}});
  assert.equal(merged.kept, target.kept);
  assert.equal(target.changed.y, 1);
});

test("folding an event without changes keeps the state", () => {
  assert.deepEqual(fold({"pod/a/b": {node: "n"}}, null), {"pod/a/b": {node: "n"}});
});

test("maps and plain objects fold alike", () => {
  const state = {"pod/a/b": {queue: "active", since: 1}, "pod/a/c": {queue: "gated"}};
  const changes = {"pod/a/b": {queue: null, node: "n1"}, "pod/a/c": null, "pod/a/d": {queue: "active"}};
  const entities = new Map(Object.entries(state));
  foldInto(entities, changes);
  assert.deepEqual(Object.fromEntries(entities), fold(state, changes));
});

test("unfolding puts back the very entities that were there", () => {
  const pod = {queue: "active"};
  const entities = new Map([["pod/a/b", pod]]);
  const before = foldInto(entities, {"pod/a/b": {queue: "backoff"}, "pod/a/c": {queue: "active"}});
  unfold(entities, before);
  assert.deepEqual([...entities], [["pod/a/b", pod]]);
  assert.equal(entities.get("pod/a/b"), pod);
});
