import assert from "node:assert/strict";
import {test} from "node:test";

import {instantWords} from "../../../../static/js/model/pods/blocker.js";

test("a blocker names its attempt and its age", () => {
  const place = {seq: 857, at: 62.4e9};
  const attempt = {number: 3, seq: 812, at: 50e9};
  assert.equal(
    instantWords({attempt: 3}, attempt, place),
    "As of attempt 3, 12.40 s ago, event 812; 45 events since then.",
  );
  assert.equal(instantWords({attempt: 3}, attempt, {seq: 812, at: 50e9}), "As of attempt 3, 0 s ago, event 812.");
  assert.equal(instantWords({attempt: 3}, {...attempt, number: 2}, place), "As of attempt 3.");
  assert.equal(instantWords({attempt: 3}, undefined, place), "As of attempt 3.");
  assert.equal(instantWords({attempt: 0}, attempt, place), "");
});
