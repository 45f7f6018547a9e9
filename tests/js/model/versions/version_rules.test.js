import assert from "node:assert/strict";
import {test} from "node:test";

import {countLine, isShown} from "../../../../static/js/model/versions/version_rules.js";

const EVERYTHING = {area: "", plugin: "", versions: [0, 1, 2], differences: false};
const RULE = {area: "Plugin settings", plugin: "NodeAffinity", values: ["yes", "yes", "no"]};

test("every rule is shown without a choice", () => {
  assert.ok(isShown(RULE, EVERYTHING));
});

test("area and plugin leave out other rules", () => {
  assert.ok(isShown(RULE, {...EVERYTHING, area: "Plugin settings", plugin: "NodeAffinity"}));
  assert.ok(!isShown(RULE, {...EVERYTHING, area: "Queue"}));
  assert.ok(!isShown(RULE, {...EVERYTHING, plugin: "NodeName"}));
});

test("only the chosen versions are compared", () => {
  assert.ok(isShown(RULE, {...EVERYTHING, differences: true}));
  assert.ok(!isShown(RULE, {...EVERYTHING, differences: true, versions: [0, 1]}));
  assert.ok(!isShown(RULE, {...EVERYTHING, differences: true, versions: [2]}));
});

test("the count says how many rules are shown", () => {
  assert.equal(countLine(64, 170), "64 of 170 rules");
  assert.equal(countLine(1, 1), "1 of 1 rule");
});
