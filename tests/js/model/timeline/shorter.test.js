import assert from "node:assert/strict";
import {test} from "node:test";

import {changesShown, promiseOf, savedWords} from "../../../../static/js/model/timeline/shorter.js";

const grace = {name: "grace", objects: ["pod/ci/build-48"], saves: 6.9e9, amount: 1, seq: 3, commands: [{}]};
const tried = {name: "grace", objects: ["pod/ci/build-48"], node: "node-b2", at: 50e9, saves: 6.1e9, refusal: ""};

test("a change names its objects and its amount", () => {
  const [shown] = changesShown({shorter: [grace]}, null);
  assert.equal(shown.title, "A grace of 1 s for build-48");
  assert.equal(savedWords(shown), "at most 6.90 s, read from the record");
});

test("what a fork showed takes the place of the limit", () => {
  const [shown] = changesShown({shorter: [grace]}, [tried]);
  assert.equal(savedWords(shown), "tried in a fork: bound 6.10 s sooner, to node-b2");
  assert.deepEqual(promiseOf(shown), {order: shown.title, node: "node-b2", at: 50e9, outcome: ""});
});

test("a fork may show that nothing changes", () => {
  const [shown] = changesShown({shorter: [grace]}, [{...tried, saves: 0}]);
  assert.equal(savedWords(shown), "tried in a fork: it changes nothing");
});

test("the trial of another change is not taken", () => {
  const other = {...tried, objects: ["pod/ci/build-49"]};
  assert.equal(changesShown({shorter: [grace]}, [other])[0].tried, null);
});

test("at most five changes are shown", () => {
  assert.equal(changesShown({shorter: Array.from({length: 9}, () => grace)}, null).length, 5);
});

test("many victims are named in part", () => {
  const objects = [1, 2, 3, 4, 5].map((i) => `pod/ci/b-${i}`);
  assert.equal(
    changesShown({shorter: [{...grace, objects}]}, null)[0].title,
    "A grace of 1 s for b-1, b-2, b-3 and 2 more",
  );
});
