import assert from "node:assert/strict";
import {test} from "node:test";

import {History} from "../../../static/js/offline/history.js";
import {Insides} from "../../../static/js/offline/insides.js";

const events = [
  {seq: 1, at: 0, kind: "PodCreated", object: "pod/a/web", message: ""},
  {seq: 2, at: 10, kind: "AttemptStarted", object: "pod/a/web", message: "cycle 1, attempt 1"},
  {seq: 3, at: 20, kind: "AttemptStarted", object: "pod/a/api", message: "cycle 2, attempt 1"},
  {seq: 4, at: 30, kind: "AttemptStarted", object: "pod/a/web", message: "cycle 3, attempt 2"},
];

/** What a file holds whose cycles are *held*, as {seq: number}. */
function insidesOf(held, of = 3) {
  const history = new History({
    chunks: [{first: 1, at: 0, read: () => events}],
    keyframes: [{seq: 0, at: 0, read: () => ({})}],
    head: 4,
  });
  const pods = {2: "pod/a/web", 3: "pod/a/api", 4: "pod/a/web"};
  const cycles = {held: held.map(([seq, number]) => [seq, number, pods[seq]]), of};
  return new Insides({
    history,
    cycles,
    objects: ["claim/a/data", "pod/a/web"],
    cycleOf: (seq) => `cycle at ${seq}`,
    objectOf: (place) => `object ${place}`,
  });
}

const all = () =>
  insidesOf([
    [4, 3],
    [3, 2],
    [2, 1],
  ]);

test("a cycle is found by its number", () => {
  assert.equal(all().cycle({cycle: "2"}), "cycle at 3");
  assert.equal(all().cycle({cycle: 1, pod: "a/web"}), "cycle at 2");
  assert.throws(() => all().cycle({cycle: 1, pod: "a/api"}), /no such scheduling cycle/);
});

test("the newest cycle of a pod is up to the event", () => {
  assert.equal(all().cycle({pod: "a/web"}), "cycle at 4");
  assert.equal(all().cycle({pod: "a/web", seq: 3}), "cycle at 2");
  assert.throws(() => all().cycle({pod: "a/web", seq: 1}), /no such scheduling cycle/);
});

test("a number that two schedulers have means the newer", () => {
  const two = insidesOf([
    [2, 1],
    [3, 1],
  ]);
  assert.equal(two.cycle({cycle: 1}), "cycle at 3");
});

test("a cycle that was not followed takes an engine", () => {
  const some = insidesOf([[4, 3]]);
  assert.throws(() => some.cycle({cycle: 1}), /1 scheduling cycle of 3, and not of this one/);
  // An older one is not given for it.
  assert.throws(() => some.cycle({pod: "a/web", seq: 3}), /takes an engine/);
});

test("the inside of volumes is that of the end", () => {
  assert.equal(all().volumes({claim: "a/data", seq: 4}), "object 0");
  assert.equal(all().volumes({pod: "a/web"}), "object 1");
  assert.throws(() => all().volumes({claim: "a/data", seq: 3}), /up to its end/);
  assert.throws(() => all().volumes({node: "n1", seq: 4}), /does not hold the inside of this object/);
});
