import assert from "node:assert/strict";
import {test} from "node:test";

import {
  choices,
  mayGoOn,
  momentShown,
  parseKept,
  progress,
  stepOf,
  tally,
} from "../../../../static/js/model/lesson/reading.js";

const ask = {then: "later", options: [{entity: "node/a"}, {entity: "node/b", right: true}, {entity: ""}]};
const steps = [
  {at: "first", ask: null},
  {at: "second", ask},
  {at: "third", ask: null},
];

test("the step of an address counts from one", () => {
  assert.equal(stepOf("?step=2", steps), 1);
  assert.equal(stepOf("", steps), 0);
  assert.equal(stepOf("?step=99", steps), 2);
  assert.equal(stepOf("?step=x", steps), 0);
});

test("after an answer the later moment is shown", () => {
  assert.equal(momentShown(steps[1], undefined), "second");
  assert.equal(momentShown(steps[1], 0), "later");
  assert.equal(momentShown(steps[0], undefined), "first");
});

test("nobody goes on before an answer", () => {
  assert.equal(mayGoOn(steps, 1, {}), false);
  assert.equal(mayGoOn(steps, 1, {1: 0}), true);
  assert.equal(mayGoOn(steps, 2, {1: 0}), false);
});

test("progress tells right from wrong and unread", () => {
  assert.deepEqual(progress(steps, 1, {}, 1), ["read", "ask", "ahead"]);
  assert.deepEqual(progress(steps, 2, {1: 1}, 2), ["read", "right", "ahead"]);
  assert.deepEqual(progress(steps, 0, {1: 2}, 2), ["read", "wrong", "ahead"]);
});

test("the tally counts answered questions alone", () => {
  assert.deepEqual(tally(steps, {}), {right: 0, of: 0});
  assert.deepEqual(tally(steps, {1: 1}), {right: 1, of: 1});
});

test("only options with an object are on the picture", () => {
  assert.deepEqual([...choices(steps[1], undefined).keys()], ["node/a", "node/b"]);
  assert.deepEqual(Object.fromEntries(choices(steps[1], 0)), {
    "node/a": {number: 1, look: "chosen"},
    "node/b": {number: 2, look: "answer"},
  });
});

test("what cannot be read of a reader is nothing", () => {
  assert.equal(parseKept("{"), null);
  assert.equal(parseKept('{"seen": "x"}'), null);
  assert.deepEqual(parseKept('{"seen": 2, "answers": {"1": 0}}'), {seen: 2, answers: {1: 0}});
});
