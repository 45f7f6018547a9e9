import assert from "node:assert/strict";
import test from "node:test";

import {withNodes} from "../../../../static/js/model/shared/wanted_nodes.js";

const three = {count: 3, type: "m5.large", zones: ""};

test("nodes of a type are added to those before", () => {
  assert.equal(withNodes("", three), "3xm5.large");
  assert.equal(withNodes(" 1xkind, ", three), "1xkind,3xm5.large");
});

test("zones stand after the type", () => {
  assert.equal(withNodes("", {...three, zones: " a, b,,"}), "3xm5.large:zone=a,b");
  assert.equal(withNodes("3xm5.large:zone=a,b", three), "3xm5.large:zone=a,b,3xm5.large");
});

test("a number that makes no sense adds nothing", () => {
  for (const count of [0, -1, 1.5, NaN]) assert.equal(withNodes("1xkind", {...three, count}), "1xkind");
});
