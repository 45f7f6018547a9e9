import assert from "node:assert/strict";
import {test} from "node:test";

import {
  clauses,
  gettext,
  gettextNoop,
  gettextOf,
  labelled,
  listParts,
  listText,
  ngettext,
  sentences,
} from "../../../static/js/lib/words.js";

test("a sentence takes its places by name", () => {
  assert.equal(gettext("{pod} waits for {volume}.", {volume: "disk-1", pod: "web"}), "web waits for disk-1.");
});

test("what a place holds is no pattern", () => {
  assert.equal(gettext("Only {name}", {name: "{other} <b>x</b> $&"}), "Only {other} <b>x</b> $&");
});

test("a missing place is an error in tests", () => {
  assert.throws(() => gettext("{pod} waits", {}), /has no value for pod/);
  assert.throws(() => gettext("{pod} waits", {pod: undefined}), /has no value for pod/);
});

test("an unknown place is an error in tests", () => {
  assert.throws(() => gettext("It waits", {pod: "web"}), /has no place for pod/);
});

test("a number decides the form of a sentence", () => {
  const words = (number) => ngettext("{count} pod waits", "{count} pods wait", number);
  assert.deepEqual([0, 1, 2, 1234].map(words), ["0 pods wait", "1 pod waits", "2 pods wait", "1,234 pods wait"]);
});

test("a form needs not show its number", () => {
  assert.equal(ngettext("one fork of {run}", "{count} forks of {run}", 1, {run: "#1"}), "one fork of #1");
});

test("a place takes a node of a page", () => {
  const link = {type: "a"};
  assert.deepEqual(gettext("Open {pod} now.", {pod: link}), ["Open ", link, " now."]);
});

test("words between tags are given to their function", () => {
  const link = (words) => ["a", ...words];
  const found = gettext("Read <link>the {what}</link> first.", {link, what: "glossary"});
  assert.deepEqual(found, ["Read ", ["a", "the ", "glossary"], " first."]);
});

test("a marked sentence takes what it needs of the facts", () => {
  const marked = gettextNoop("mounts {volume}");
  assert.equal(gettextOf(marked, {volume: "disk-1", node: "n1"}), "mounts disk-1");
  assert.equal(gettextOf("", {node: "n1"}), "");
});

test("lists, sentences and clauses have their separators", () => {
  assert.equal(listText(["a", "b", 3]), "a, b, 3");
  assert.deepEqual(listParts(["a", {type: "b"}]), ["a", ", ", {type: "b"}]);
  assert.equal(sentences(["It waits.", "", false, "Nothing helps."]), "It waits. Nothing helps.");
  assert.equal(clauses(["in backoff", undefined, "since 3 s"]), "in backoff; since 3 s");
});

test("a label stands alone where nothing is said of it", () => {
  assert.deepEqual(
    [labelled("web", "no node"), labelled("web", ""), labelled("web", 0)],
    ["web: no node", "web", "web: 0"],
  );
});
