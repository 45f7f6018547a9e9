import assert from "node:assert/strict";
import {test} from "node:test";

import {byName} from "../../../../static/js/model/shared/format.js";
import {Ordered} from "../../../../static/js/model/shared/ordered.js";

/** Numbers that look random, the same each time. */
function* numbers(seed) {
  for (let value = seed; ; value = (value * 48271) % 2147483647) yield value;
}

test("names stay in order as they come and go", () => {
  const ordered = new Ordered();
  const kept = new Set();
  for (const number of numbers(7)) {
    const name = `claim/shop/data-${number % 60}`;
    if (number % 3 === 0) {
      ordered.delete(name);
      kept.delete(name);
    } else {
      ordered.add(name);
      kept.add(name);
    }
    // Some come together between two looks, one by one otherwise.
    if (number % 40 === 0 || kept.size < 20) assert.deepEqual(ordered.list, [...kept].sort(byName));
    assert.equal(ordered.size, kept.size);
    if (number % 997 === 0) break;
  }
});

test("names that count as equal are told apart", () => {
  const ordered = new Ordered();
  for (const name of ["a-01", "a-1", "a-001"]) ordered.add(name);
  assert.equal(ordered.list.length, 3);
  ordered.delete("a-1");
  assert.deepEqual([...ordered.list].sort(), ["a-001", "a-01"]);
  assert.deepEqual([ordered.has("a-1"), ordered.has("a-01")], [false, true]);
});
