import assert from "node:assert/strict";
import {test} from "node:test";

import {budgetChanges, fieldText, parseAmount, usedText} from "../../../../static/js/model/run/budget.js";

const DAY = 86_400e9;
const budget = {events: 2_000_000, objects: 100_000, time: 30 * DAY, memory: 2 ** 31};
const texts = {events: "2000000", objects: "100000", time: "30d", memory: "2048"};

test("a budget is shown as people type it", () => {
  for (const [part, text] of Object.entries(texts)) assert.equal(fieldText(part, budget[part]), text);
  assert.equal(fieldText("time", 5400e9), "90m");
  assert.equal(fieldText("time", 1.5e9), "1.5s");
});

test("shown amounts are parsed back unchanged", () => {
  for (const part of Object.keys(texts)) assert.equal(parseAmount(part, texts[part]), budget[part]);
  assert.equal(parseAmount("time", "1h30m"), 5400e9);
  assert.equal(parseAmount("events", "1,000"), 1000);
});

test("a wrong amount is rejected", () => {
  for (const text of ["", "0", "-1", "many", "1.5"]) assert.equal(parseAmount("events", text), null);
  for (const text of ["", "0s", "30", "1w"]) assert.equal(parseAmount("time", text), null);
});

test("only changed fields are sent", () => {
  assert.deepEqual(budgetChanges(budget, texts), {wrong: "", changes: {}});
  assert.deepEqual(budgetChanges(budget, {...texts, objects: "5"}), {wrong: "", changes: {objects: 5}});
});

test("a wrong field is named", () => {
  assert.deepEqual(budgetChanges(budget, {...texts, memory: "much"}), {wrong: "memory", changes: null});
});

test("used amounts have units", () => {
  assert.equal(usedText("memory", 0), "not measured yet");
  assert.equal(usedText("memory", 3 * 2 ** 20), "3 MiB");
});
