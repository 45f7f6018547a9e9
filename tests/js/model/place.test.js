import assert from "node:assert/strict";
import {test} from "node:test";

import {changedSearch, hrefInRun, pageHref, parsePlace} from "../../../static/js/model/place.js";

const PLACE = {seq: 812, pod: "pod/shop/web-3", claim: "claim/shop/data", volume: null};

test("a link keeps the event shown and the selection", () => {
  assert.equal(pageHref(7, "machines", PLACE), "/runs/7/machines/?pod=shop/web-3&claim=shop/data&seq=812");
  assert.equal(pageHref(7, "board", PLACE), "/runs/7/?pod=shop/web-3&claim=shop/data&seq=812");
});

test("at the newest event no seq stands in a link", () => {
  assert.equal(pageHref(7, "timeline", {...PLACE, seq: null, claim: null}), "/runs/7/timeline/?pod=shop/web-3");
  assert.equal(pageHref(7, "nodes"), "/runs/7/nodes/");
});

test("event 0 is an instant like any other", () => {
  assert.equal(pageHref(7, "volumes", {seq: 0}), "/runs/7/volumes/?seq=0");
});

test("a pod page's path names the pod", () => {
  assert.equal(pageHref(7, "pod", {...PLACE, of: "shop/web-4"}), "/runs/7/pods/shop/web-4/?claim=shop/data&seq=812");
});

test("names in a path are escaped, slashes between them are not", () => {
  assert.equal(pageHref(7, "manifest", {of: "node/a b"}), "/runs/7/objects/node/a%20b/");
});

test("what a link says is read back as the same place", () => {
  const search = pageHref(7, "board", PLACE).split("/").slice(3).join("/");
  assert.deepEqual(parsePlace(search), {...PLACE, attempt: null, problem: ""});
});

test("a seq that is no number is told", () => {
  const {seq, problem} = parsePlace("?seq=abc");
  assert.equal(seq, null);
  assert.match(problem, /seq is “abc”/);
});

test("a query keeps what is not changed", () => {
  assert.equal(changedSearch("?kind=PodBound&seq=3", {seq: 4}), "?kind=PodBound&seq=4");
  assert.equal(changedSearch("?seq=3", {seq: null}), "");
});

test("a fork keeps page and selection", () => {
  const here = {pathname: "/runs/3/pods/shop/web-3/", search: "?seq=812&attempt=2&claim=shop%2Fdata"};
  assert.equal(hrefInRun(14, here), "/runs/14/pods/shop/web-3/?claim=shop/data");
  assert.equal(hrefInRun(14, {pathname: "/runs/3/", search: ""}, {pod: "pod/a/b"}), "/runs/14/?pod=a/b");
});
