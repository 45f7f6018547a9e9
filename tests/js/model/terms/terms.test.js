import assert from "node:assert/strict";
import {readFileSync} from "node:fs";
import {test} from "node:test";

import {MACHINES} from "../../../../static/js/model/machines/diagrams.js";
import {Terms, stopOf, tipPlace, wordAfter} from "../../../../static/js/model/terms/terms.js";

const TERMS = new Terms([
  [["claim", "PersistentVolumeClaim", "PVC"], "asks for storage", "claim"],
  [["virtual time"], "the time inside a run", "virtual-time"],
  [["Claim"], "comes too late", "claim-2"],
]);
const WINDOW = {width: 400, height: 300};

test("a text is explained if the whole of it is a word", () => {
  assert.equal(TERMS.find("Claim").means, "asks for storage");
  assert.equal(TERMS.find(" persistent\u200bVolume\u00adClaim: ").anchor, "claim");
  assert.equal(TERMS.find("Virtual\n  time").anchor, "virtual-time");
  assert.equal(TERMS.find("claims of a pod"), null);
  assert.equal(TERMS.find(""), null);
  assert.equal(TERMS.find("x".repeat(500)), null);
});

test("a link to the glossary is explained by where it leads", () => {
  assert.equal(TERMS.findAt("/glossary/#virtual-time").means, "the time inside a run");
  assert.equal(TERMS.findAt("/glossary/#nothing"), null);
  assert.equal(TERMS.findAt("/runs/1/"), null);
  assert.equal(TERMS.findAt(null), null);
});

test("one word of a group is a stop, and stays it", () => {
  assert.equal(stopOf(0, -1), -1);
  assert.equal(stopOf(4, -1), 0);
  assert.equal(stopOf(4, 2), 2);
  assert.equal(stopOf(2, 3), 0);
});

test("arrow keys lead to the next word and not beyond", () => {
  assert.equal(wordAfter("ArrowRight", 0, 3), 1);
  assert.equal(wordAfter("ArrowUp", 2, 3), 1);
  assert.equal(wordAfter("ArrowDown", 2, 3), null);
  assert.equal(wordAfter("ArrowLeft", 0, 3), null);
  assert.equal(wordAfter("x", 1, 3), null);
});

test("an explanation stays in the window", () => {
  const tip = {width: 320, height: 60};
  assert.deepEqual(tipPlace({left: 20, top: 40, bottom: 60}, tip, WINDOW), {left: 20, top: 66});
  assert.deepEqual(tipPlace({left: 300, top: 40, bottom: 60}, tip, WINDOW), {left: 74, top: 66});
  assert.deepEqual(tipPlace({left: 2, top: 270, bottom: 290}, tip, WINDOW), {left: 6, top: 204});
});

test("every state and machine has a sentence in the documents", () => {
  const rows = ["terms.md", "glossary.md"].flatMap((name) =>
    readFileSync(new URL(`../../../../docs/${name}`, import.meta.url), "utf8").match(/^\| .+$/gm),
  );
  const known = new Set(rows.flatMap((row) => row.split("|")[1].trim().toLowerCase().split(", ")));
  const states = MACHINES.flatMap(({title, states: all}) => [title, ...all.map((state) => state.title)]);
  const wanted = [...states, "In flight", "Nominated", "Terminating"];
  assert.ok(wanted.length > 25);
  assert.deepEqual(
    wanted.filter((title) => !known.has(title.toLowerCase())),
    [],
  );
});
