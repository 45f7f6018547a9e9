import assert from "node:assert/strict";
import {test} from "node:test";

import {placeWords} from "../../../../static/js/model/timeline/words.js";

const word = (text, x, y, isLeft = false) => ({word: text, x, y, wide: 30, isLeft});

test("a word goes to the other side of a taken place", () => {
  const placed = placeWords([word("evicts", 100, 20), word("wakes", 104, 24)], 300);
  assert.deepEqual(
    placed.map(({word: text, left}) => [text, left]),
    [
      ["evicts", 105],
      ["wakes", 68],
    ],
  );
});

test("a word without room is left out", () => {
  const three = [word("one", 100, 20), word("two", 102, 20), word("three", 101, 21)];
  assert.deepEqual(
    placeWords(three, 300).map(({word: text}) => text),
    ["one", "two"],
  );
  assert.equal(placeWords([word("cut", 10, 20), word("late", 395, 60)], 30).length, 0);
  assert.deepEqual(
    placeWords([word("far", 100, 20), word("below", 100, 40)], 300).map(({left}) => left),
    [105, 105],
  );
});
