import assert from "node:assert/strict";
import {test} from "node:test";

import {gatesText, parseGates} from "../../../../static/js/model/run/gates.js";

test("gates are read as the flag lists them", () => {
  assert.deepEqual(parseGates("A=true, B=False,"), {A: true, B: false});
  assert.deepEqual(parseGates(" "), {});
});

test("an entry without a value is refused", () => {
  assert.throws(() => parseGates("A=true, B"), /Feature gate B: write B=true or B=false/);
});

test("gates are written as they are read", () => {
  assert.equal(gatesText({A: true, B: false}), "A=true, B=false");
  assert.equal(gatesText(undefined), "");
});
