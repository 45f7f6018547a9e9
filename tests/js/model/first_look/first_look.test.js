import assert from "node:assert/strict";
import {test} from "node:test";

import {
  actsOf,
  asideRows,
  causeRows,
  isDoubtful,
  isWhole,
  joined,
  nodeLook,
  pictureOf,
  readRows,
  readingFacts,
  sizeWords,
  trustRows,
} from "../../../../static/js/model/first_look/first_look.js";

const NEUTRAL = {group: "", is_neutral: true, is_evidence: false, note: "scheduling and storage do not depend on it"};
const REPORT = {
  files: [
    {name: "cluster.yaml", bytes: 2048, kinds: {Pod: 2, Node: 1, Namespace: 3, StorageClass: 1}, aside: {Role: 4}},
    {name: "events.yaml", bytes: 1024, kinds: {}, aside: {Event: 7}},
    {name: "(assumed)", bytes: 0, kinds: {}, aside: {}},
  ],
  warnings: [],
  left_out: [
    {...NEUTRAL, kind: "Event", count: 7, is_evidence: true, note: "it tells what was observed of its object"},
    {...NEUTRAL, kind: "Role", group: "rbac.authorization.k8s.io", count: 4},
    {...NEUTRAL, kind: "Ingress", group: "networking.k8s.io", count: 5},
    {kind: "Rollout", group: "argoproj.io", count: 1, is_neutral: false, is_evidence: false, note: "not simulated"},
  ],
};
const READ = [
  {kind: "Pod", number: 2, state: "all wait"},
  {kind: "Node", number: 1, state: "1 ready"},
  {kind: "Namespace", number: 3, state: ""},
  {kind: "StorageClass", number: 1, state: ""},
  {kind: "Event", number: 7, state: "all Warnings"},
  {kind: "Role", number: 4, state: ""},
];
const LOOK = {read: READ, report: REPORT, causes: [], headline: "", instant: "2026-11-27T02:31:08Z"};
const RUN = {as_brought: true, standing: true, profile: "v1.34"};

test("what was read is shown before the rest is there", () => {
  const {causes, headline, ...read} = LOOK;
  const first = joined(null, read);
  assert.equal(sizeWords(first), "1 node, 2 pods.");
  assert.deepEqual([isWhole(null), isWhole(first), isDoubtful(first)], [false, false, false]);
  assert.equal(isWhole(joined(first, {causes, headline})), true);
});

test("the sentence counts nodes, pods and claims", () => {
  assert.equal(sizeWords(LOOK), "1 node, 2 pods.");
  assert.equal(sizeWords({read: [{kind: "PersistentVolumeClaim", number: 2}]}), "2 claims.");
});

test("facts tell files, bytes, objects used and left aside", () => {
  assert.deepEqual(readingFacts(LOOK), ["2 files, 3 KiB", "14 objects used", "10 left aside"]);
});

test("a small file has its size in bytes", () => {
  const files = [{name: "pod.yaml", bytes: 968, kinds: {}, aside: {}}];
  assert.equal(readingFacts({...LOOK, report: {...LOOK.report, files}})[0], "1 file, 968 B");
});

test("without a report nothing is said of files", () => {
  assert.deepEqual(readingFacts({...LOOK, report: null}), ["18 objects used", "0 left aside"]);
  assert.deepEqual(readRows({...LOOK, report: null})[0].files, []);
});

test("evidence is read, and what is left aside is not", () => {
  const rows = readRows(LOOK);
  assert.deepEqual(
    rows.map(({kinds, numbers}) => `${kinds}: ${numbers}`),
    ["Pod: 2", "Node: 1", "Event: 7", "Namespace · StorageClass: 3 · 1"],
  );
  assert.deepEqual(rows[2].files, ["events.yaml"]);
});

test("kinds of one effect share a row", () => {
  const rows = asideRows(LOOK);
  assert.deepEqual(rows[0], {
    what: "Role, Ingress",
    number: "9",
    effect: "none: scheduling and storage do not depend on it",
    may: false,
  });
  assert.deepEqual([rows[1].what, rows[1].may], ["Rollout of argoproj.io", true]);
  assert.match(rows.at(-1).effect, /^removed/);
});

test("what is stuck comes before play", () => {
  const {explain, play} = actsOf({...LOOK, causes: [{}, {}], headline: "2 causes hold 3 pods"}, RUN);
  assert.deepEqual([explain.number, explain.words, explain.isMain], ["2", "2 causes hold 3 pods", true]);
  assert.equal(play.words, "from 02:31:08 UTC, under the rules of v1.34");
});

test("nothing stuck leads to play", () => {
  const {explain} = actsOf(LOOK, RUN);
  assert.deepEqual([explain.title, explain.isMain], ["Nothing is stuck", false]);
});

test("files with steps have nothing to explain", () => {
  const {explain, play} = actsOf(LOOK, {...RUN, as_brought: false, standing: false});
  assert.deepEqual([explain, play.title], [null, "Play"]);
});

test("a run that was played does not begin at the instant", () => {
  assert.equal(actsOf(LOOK, {...RUN, standing: false}).play.words, "it was played or changed already");
});

test("twelve causes are shown, and the rest counted", () => {
  const causes = Array.from({length: 15}, (_, i) => ({cause: `c${i}`}));
  const {shown, more} = causeRows({causes});
  assert.deepEqual([shown.length, more], [12, 3]);
});

test("a sample says of how many it is", () => {
  const [row] = trustRows({trust: [{subject: "placements", same: 198, of: 200, all: 6517}]});
  assert.deepEqual([row.same, row.of, row.isLow], ["198", "200", false]);
  assert.match(row.words, /of 6,517, 200 were looked at/);
});

test("the model is doubted below nine of ten", () => {
  const trust = (same) => ({trust: [{subject: "refusals", same, of: 10, all: 10}]});
  assert.deepEqual([isDoubtful(trust(9)), isDoubtful(trust(8))], [false, true]);
});

test("contradictions are no reason for doubt", () => {
  const look = {trust: [{subject: "contradictions", same: 5, of: 5, all: 5}]};
  assert.equal(isDoubtful(look), false);
  assert.match(trustRows(look)[0].words, /^causes contradict the model/);
});

test("many nodes are drawn as cells", () => {
  const zones = (number) => [{zone: "a", nodes: Array.from({length: number}, () => ({}))}];
  const isLarge = (number) => pictureOf({picture: {zones: zones(number), waiting: 0}}).isLarge;
  assert.deepEqual([isLarge(60), isLarge(61)], [false, true]);
});

test("a node that is not ready looks dead", () => {
  assert.deepEqual(
    [
      nodeLook({state: "unknown", note: "silent 5 min"}),
      nodeLook({state: "not ready", note: "not ready"}),
      nodeLook({state: "ready", note: "cordoned, gpu"}),
      nodeLook({state: "", note: ""}),
    ],
    ["dead", "dead", "cordoned", ""],
  );
});
