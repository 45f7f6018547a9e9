import assert from "node:assert/strict";
import {test} from "node:test";

import {
  byClass,
  changeLook,
  firstChange,
  proofWords,
  shortChange,
  togetherCommands,
} from "../../../../static/js/model/triage/changes.js";
import {lookNext} from "../../../../static/js/model/triage/look_next.js";
import {onset} from "../../../../static/js/model/triage/onset.js";
import {weakSpots} from "../../../../static/js/model/triage/weak_spots.js";

const change = (text, places, fields = {}) => ({text, places, of: 4, loses: "", shared: "", commands: [], ...fields});

test("what touches others or loses something stands apart", () => {
  const [best, less, taint, force] = [
    change("Add 2 nodes like a", 4),
    change("Ask for less", 1),
    change("Remove the taint", 4, {shared: "it is everybody's"}),
    change("Delete by force", null, {loses: "data"}),
  ];
  const found = byClass([best, less, taint, force]);
  assert.deepEqual(found, {best, others: [], smaller: [less], shared: [taint], loses: [force]});
});

test("a shared change is never called the best", () => {
  const taint = change("Remove the taint", 4, {shared: "it is everybody's"});
  assert.equal(byClass([taint]).best, null);
  assert.equal(firstChange({changes: [taint]}), taint);
});

test("only what places all is settled", () => {
  assert.equal(changeLook(change("a", 4)).look, "ok");
  assert.equal(changeLook(change("a", 3)).look, "part");
  assert.equal(changeLook(change("a", null)).look, "untried");
  assert.equal(proofWords(change("a", 3)), "tried: places 3 of 4");
});

test("an overview has the change without its template", () => {
  assert.equal(shortChange({text: "Add 4 nodes like general-a1"}), "4 nodes like general-a1");
  assert.equal(shortChange({text: "Tolerate gpu in the template of job a/b"}), "Tolerate gpu");
});

test("changes together are carried out only when each can be", () => {
  const [one, other] = [change("a", 4, {commands: [{verb: "create"}]}), change("b", 4, {commands: [{verb: "patch"}]})];
  const groups = [{changes: [one]}, {changes: [other]}];
  const together = {
    changes: [
      {group: 1, text: "b"},
      {group: 0, text: "a"},
    ],
  };
  assert.deepEqual(togetherCommands({groups, together}), [{verb: "patch"}, {verb: "create"}]);
  assert.deepEqual(togetherCommands({groups: [groups[0], {changes: [change("b", 4)]}], together}), []);
});

const held = {
  kind: "pending",
  by: "deployment shop/web",
  since: "2026-11-27T13:00:00Z",
  short: "short of cpu",
  pods: ["shop/web-1"],
  pods_missing: 0,
  claims: [],
  nodes: [],
  namespaces: [],
  objects: [],
  workloads: ["deployment/shop/web"],
  nodes_by_reason: [{is_closest: true, nodes: ["n1"], check: null}],
};
const scaled = {at: "2026-11-27T12:59:00Z", text: "deployment shop/web scaled from 1 to 3"};

test("waits begin on one axis that ends now", () => {
  const found = onset({groups: [held], instant: "2026-11-27T14:00:00Z", happened: [scaled]});
  assert.deepEqual([found.rows[0].label, found.rows[0].age], ["1 pod, short of cpu", "1 h 00"]);
  assert.deepEqual([found.marks[0].label, found.ticks.at(-1)], ["web scaled from 1 to 3", {left: 1, text: "14:00"}]);
  assert.ok(found.marks[0].left < found.rows[0].left);
});

test("files without times have no axis", () => {
  assert.equal(onset({groups: [{...held, since: ""}], instant: "2026-11-27T14:00:00Z"}), null);
  assert.equal(onset({groups: [held], instant: ""}), null);
});

test("what changed before is the first place to look", () => {
  assert.deepEqual(lookNext(held, {happened: [scaled]}), [
    {id: "deployment/shop/web", text: "Deployment shop/web scaled from 1 to 3"},
    {id: "node/n1", text: "Node n1"},
    {id: "pod/shop/web-1", text: "Pod shop/web-1"},
  ]);
});

test("a kind is written as Kubernetes does", () => {
  const text = "statefulset shop/db scaled to 3";
  const of = {...held, workloads: ["statefulset/shop/db"], facts: [], nodes_by_reason: []};
  const [first] = lookNext(of, {happened: [{...scaled, text}]});
  assert.equal(first.text, "StatefulSet shop/db scaled to 3");
});

test("a healthy cluster has weak spots to try", () => {
  const nodes = {
    byName: new Map([
      ["a", {zone: "z1"}],
      ["b", {zone: "z1"}],
      ["c", {zone: "z2"}],
    ]),
    pods: new Map([["b", new Map([["pod/x/y", {}]])]]),
  };
  const webs = [["deployment/shop/web", {}], ...[1, 2, 3].map((n) => [`pod/shop/web-5d9-${n}`, {owner: "web-5d9"}])];
  const found = weakSpots({nodes, entities: new Map(webs)});
  assert.deepEqual(
    found.map(({text}) => text),
    ["Lose zone z2", "Drain b", "Scale web to 6"],
  );
  assert.deepEqual(weakSpots({nodes: {byName: new Map(), pods: new Map()}, entities: new Map()}), []);
});
