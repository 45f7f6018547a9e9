import assert from "node:assert/strict";
import {test} from "node:test";

import {MOST_LISTED, eventAsked, matching, objectEntries} from "../../../../static/js/model/palette/palette.js";

const titles = (entries) => entries.map(({title}) => title);

test("what begins with the query comes first", () => {
  const entries = ["shop/web-1", "web-1", "a web-1 b"].map((title) => ({title, about: "pod"}));
  assert.deepEqual(titles(matching(entries, "web-1")), ["web-1", "shop/web-1", "a web-1 b"]);
});

test("every word has to be found", () => {
  const entries = [
    {title: "shop/web-1", about: "pod"},
    {title: "web-1", about: "volume"},
  ];
  assert.deepEqual(titles(matching(entries, "WEB volume")), ["web-1"]);
  assert.deepEqual(matching(entries, "web node"), []);
});

test("no more are listed than fit", () => {
  const entries = Array.from({length: 50}, (_, at) => ({title: `p${at}`, about: "pod"}));
  assert.equal(matching(entries, "").length, MOST_LISTED);
});

test("objects lead to their own pages", () => {
  const entities = new Map([
    ["run", {}],
    ["pod/shop/web-1", {}],
    ["deployment/shop/web", {}],
    ["lease/kube-system/kube-scheduler", {}],
  ]);
  const entries = objectEntries(entities, (id) => `/of/${id}`);
  assert.deepEqual(
    entries.map(({title, about, href}) => [title, about, href()]),
    [
      ["shop/web-1", "pod", "/of/pod/shop/web-1"],
      ["shop/web", "deployment, its manifest", "/of/deployment/shop/web"],
    ],
  );
});

test("only a number asks for an event", () => {
  assert.equal(eventAsked(" #1466 "), 1466);
  assert.equal(eventAsked("12"), 12);
  assert.equal(eventAsked("web-12"), null);
});
