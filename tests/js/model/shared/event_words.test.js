import assert from "node:assert/strict";
import {readFileSync} from "node:fs";
import {test} from "node:test";

import {eventText, withEvictors} from "../../../../static/js/model/shared/event_words.js";

const UID = "a4bcf0fc-2a91-4c66-a3b4-9994593ef860";
const CHAIN = [
  {seq: 1, kind: "AttemptStarted", object: "pod/shop/ledger-3", cause: null, message: "cycle 147, attempt 1"},
  {seq: 2, kind: "PodDisrupted", object: "pod/ci/build-52", cause: 1, message: ""},
  {seq: 3, kind: "PodEvicted", object: "pod/ci/build-52", cause: 2, message: ""},
  {seq: 4, kind: "Preempted", object: "pod/ci/build-52", cause: 3, message: `Preempted by pod ${UID} on node node-b2`},
];

/** The kinds of the tables in docs/events.md, and one of each write that it describes. */
function kinds() {
  const text = readFileSync(new URL("../../../../docs/events.md", import.meta.url), "utf8");
  const section = text.slice(text.indexOf("| of | kinds |"), text.indexOf("### ComponentFailed"));
  const named = [...section.matchAll(/^\| [^|]+ \| ([^|]+) \|$/gm)].flatMap(([, list]) => list.split(", "));
  const writes = ["Created", "Updated", "Deleted", "Terminating", "StatusUpdated", "Stripped", "Adopted", "Released"];
  return [...named.filter((kind) => /^[A-Z]\w+$/.test(kind)), ...writes.map((write) => `ReplicaSet${write}`)];
}

test("no kind of event is without a text", () => {
  const all = kinds();
  assert.ok(all.length > 100, String(all.length));
  assert.deepEqual(
    all.filter((kind) => eventText({kind, message: ""}) === ""),
    [],
  );
});

test("an event with a message says it", () => {
  assert.equal(eventText({kind: "PodBound", message: "to node-b"}), "to node-b");
});

test("who evicted whom is a name", () => {
  assert.deepEqual(withEvictors(CHAIN).map(eventText).slice(1), [
    "it is going to be disrupted for shop/ledger-3",
    "it has to leave its node for shop/ledger-3",
    "Preempted by pod shop/ledger-3 on node node-b2",
  ]);
});

test("an evictor that the server names is kept", () => {
  const [only] = withEvictors([{...CHAIN[3], by: "pod/shop/other"}]);
  assert.equal(eventText(only), "Preempted by pod shop/other on node node-b2");
});

test("without its causes an eviction says what it can", () => {
  assert.equal(eventText(withEvictors([CHAIN[3]])[0]), CHAIN[3].message);
});
