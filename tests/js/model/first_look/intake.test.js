import assert from "node:assert/strict";
import {test} from "node:test";

import {actsOf} from "../../../../static/js/model/first_look/first_look.js";
import {intakeParts} from "../../../../static/js/model/first_look/intake.js";

const QUESTION = {name: "no-nodes", text: "There are no nodes.", answer: "Import them."};

test("only what was found is told", () => {
  assert.deepEqual(intakeParts({questions: [], skipped: [], sources: {}}), []);
  assert.deepEqual(intakeParts(null), []);
});

test("skipped files are named, and further ones counted", () => {
  const skipped = Array.from({length: 12}, (_, i) => ({file: `${i}.md`, document: 0, why: "no manifest"}));
  const [part] = intakeParts({skipped, skipped_count: 14});
  assert.equal(part.title, "Skipped");
  assert.equal(part.rows[0], "0.md: no manifest");
  assert.equal(part.more, "2 more are not shown here.");
});

test("without nodes nothing is called well", () => {
  const look = {causes: [], headline: QUESTION.text, instant: "", report: {questions: [QUESTION]}};
  const {explain} = actsOf(look, {as_brought: true, standing: true, profile: "v1.36"});
  assert.equal(explain.title, "Nothing can be said about pods");
  assert.deepEqual(intakeParts(look.report), [
    {title: "Open questions", rows: ["There are no nodes. Import them."], more: ""},
  ]);
});
