import assert from "node:assert/strict";
import {test} from "node:test";

import {deletionOf} from "../../../../static/js/model/run/deletion.js";

const RUN = {id: 7, name: "small", head: 1234, status: "finished", forks: 0};

test("a deletion names the run and its events", () => {
  assert.deepEqual(deletionOf(RUN), {
    title: "Delete run small #7?",
    lines: ["Deletes its 1,234 events and everything else that it recorded.", "This cannot be undone."],
  });
});

test("a playing run is stopped first", () => {
  assert.ok(deletionOf({...RUN, status: "playing"}).lines.includes("It is playing and is stopped first."));
});

test("forks keep their own history", () => {
  assert.ok(deletionOf({...RUN, forks: 1}).lines.includes("Its fork keeps its own history."));
  assert.ok(deletionOf({...RUN, forks: 2}).lines.includes("Its 2 forks keep their own history."));
});
