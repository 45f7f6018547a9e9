import assert from "node:assert/strict";
import {test} from "node:test";

import {captionOf, cutTo, fileName, wrapped} from "../../../../static/js/model/picture/caption.js";

const run = {id: 12, name: "checkout-surge"};
const letters = (text) => text.length;

test("a caption names run, page, event and instant", () => {
  const caption = captionOf({page: "Timeline", run, seq: 1466, at: 51_449_000_000});
  assert.equal(caption, "checkout-surge · run 12 · Timeline · event 1,466 at 51.449 s");
});

test("a run that no server has seen has no number", () => {
  const played = {id: 0, name: "surge"};
  const caption = captionOf({page: "Board", run: played, seq: 3, at: 1_000_000_000});
  assert.equal(caption, "surge · Board · event 3 at 1.000 s");
  assert.equal(fileName({title: "Timeline", run: played, seq: 3}), "timeline-3");
});

test("a page without a run has its name only", () => {
  assert.equal(captionOf({page: "Runs and scenarios"}), "Runs and scenarios · kscope");
});

test("a caption claims no event before it is known", () => {
  assert.equal(captionOf({page: "Board", run}), "checkout-surge · run 12 · Board");
});

test("the name of a file is plain", () => {
  assert.equal(fileName({title: "Lanes of time", run, seq: 1466}), "run-12-lanes-of-time-1466");
  assert.equal(fileName({title: "…"}), "kscope");
});

test("long captions are broken between words", () => {
  assert.deepEqual(wrapped("one two three", 8, letters), ["one two", "three"]);
});

test("a link without spaces is broken anywhere", () => {
  assert.deepEqual(wrapped("to http://host/runs", 8, letters), ["to", "http://h", "ost/runs"]);
});

test("cut text ends with an ellipsis in its room", () => {
  assert.equal(cutTo("persistentvolumeclaim", 8, letters), "persist…");
  assert.equal(cutTo("short", 8, letters), "short");
});
