import assert from "node:assert/strict";
import {test} from "node:test";

import {faultCommand, fittingFaults, offeredFor, valuesFor} from "../../../../static/js/model/acting/faults.js";

const field = (name, more = {}) => ({name, names: name, type: "text", choices: [], required: false, ...more});
const ATTACH = {
  kind: "fail attach",
  fixed: {fail: "attach"},
  fields: [field("volume"), field("node"), field("times", {type: "integer"})],
};
const DIE = {kind: "die", fixed: {}, fields: [field("die", {names: "node", required: true})]};
const VANISH = {kind: "vanish", fixed: {}, fields: [field("vanish", {names: "object", required: true})]};

test("a form about an object begins with its name", () => {
  assert.deepEqual(valuesFor(DIE, "node/n1"), {die: "n1"});
  assert.deepEqual(valuesFor(ATTACH, "volume/pv-1"), {volume: "pv-1"});
  assert.deepEqual(valuesFor(VANISH, "claim/shop/data"), {vanish: "claim/shop/data"});
});

test("an object is offered the faults that can name it", () => {
  assert.deepEqual(fittingFaults([ATTACH, DIE, VANISH], "volume/pv-1"), [ATTACH, VANISH]);
  assert.equal(fittingFaults([ATTACH, DIE, VANISH], "").length, 3);
});

test("what is left empty is not part of the fault", () => {
  const {command} = faultCommand(ATTACH, {node: "n1", volume: " ", times: "2"});
  assert.deepEqual(command, {verb: "fault", patch: {fail: "attach", node: "n1", times: 2}});
});

test("a missing name and a wrong number are said", () => {
  assert.deepEqual(faultCommand(DIE, {}), {command: null, problem: "die is needed"});
  assert.match(faultCommand(ATTACH, {times: "1.5"}).problem, /times is “1.5”, which is not a whole number/);
});

test("names of the run's objects are offered", () => {
  const entities = new Map([
    ["node/n1", {}],
    ["claim/shop/data", {}],
  ]);
  assert.deepEqual(offeredFor(field("node"), entities), ["n1"]);
  assert.deepEqual(offeredFor(field("claim"), entities), ["shop/data"]);
  assert.deepEqual(offeredFor(field("x", {names: "process", choices: ["scheduler"]}), entities), ["scheduler", "n1"]);
});
