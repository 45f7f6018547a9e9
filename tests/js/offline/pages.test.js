import assert from "node:assert/strict";
import {test} from "node:test";

import {nameElsewhere, pageAt, tabsOf} from "../../../static/js/offline/pages.js";
import {placeIn} from "../../../static/js/offline/address.js";

test("what stands behind the sign names page and query", () => {
  assert.deepEqual(placeIn(""), {path: "/", search: "", anchor: ""});
  assert.deepEqual(placeIn("#inspector"), {path: "/", search: "", anchor: ""});
  assert.deepEqual(placeIn("#/pods/shop/web-1/?seq=3&attempt=2"), {
    path: "/pods/shop/web-1/",
    search: "?seq=3&attempt=2",
    anchor: "",
  });
  assert.deepEqual(placeIn("#/triage/#cause-1"), {path: "/triage/", search: "", anchor: "cause-1"});
});

test("a page of an object knows its name", () => {
  assert.equal(pageAt("/").tab, "board");
  assert.deepEqual(pageAt("/pods/shop/web-1/").root, {id: "pod", "data-pod": "shop/web-1"});
  assert.deepEqual(pageAt("/nodes/a%20b/").root, {id: "node", "data-node": "a b"});
});

test("a page that is not in the file has a name", () => {
  assert.equal(pageAt("/configuration/"), null);
  assert.equal(nameElsewhere("/configuration/"), "Configuration");
  assert.equal(nameElsewhere("/nothing/"), "");
});

test("a cluster that was brought has its own pages first", () => {
  const keys = (run) => tabsOf(run).map(([key]) => key);
  assert.deepEqual(keys({as_brought: true}).slice(0, 3), ["first-look", "triage", "board"]);
  assert.ok(!keys({as_brought: false}).includes("triage"));
  for (const key of ["first-look", "triage"]) assert.equal(pageAt(`/${key}/`).tab, key);
});

test("a path that cannot be read is no page", () => {
  assert.equal(pageAt("/pods/%/"), null);
  assert.equal(pageAt("/nodes/%E0%A4%A/"), null);
  assert.equal(nameElsewhere("/pods/%/"), "");
});
