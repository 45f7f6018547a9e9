import assert from "node:assert/strict";
import {test} from "node:test";

import {lineOf, pathIn, placeAt, readPath} from "../../../../static/js/model/acting/yaml_place.js";

const POD = `apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: {app: shop}
spec:
  containers:
  - name: main
    args:
    - --x
    - --y
  - name: side
    resources:
      requests:
        cpu: 100m
  nodeName: n1
`;

/** The place of the mark | in a text. */
function at(text) {
  const rows = text.split("\n");
  const row = rows.findIndex((line) => line.includes("|"));
  return placeAt(text.replace("|", ""), row, rows[row].indexOf("|"));
}

test("a field is found at its line", () => {
  assert.equal(lineOf(POD, ["metadata", "name"]), 4);
  assert.equal(lineOf(POD, ["spec", "containers", 1, "resources", "requests", "cpu"]), 15);
  assert.equal(lineOf(POD, ["spec", "containers", 0, "args", 1]), 11);
  assert.equal(lineOf(POD, ["spec", "nodeName"]), 16);
});

test("what is not there is at its nearest parent", () => {
  assert.equal(lineOf(POD, ["metadata", "labels", "app"]), 5);
  assert.equal(lineOf(POD, ["spec", "tolerations"]), 6);
  assert.equal(lineOf(POD, ["status"]), 0);
});

test("each document has its own lines", () => {
  const both = `${POD}---\n${POD}`;
  assert.equal(lineOf(both, ["metadata", "name"], 1), 4 + POD.split("\n").length);
});

test("lines of a block of text are no fields", () => {
  const text = "data:\n  script: |\n    kind: no\n    spec: no\n  other: 1\nspec: 1\n";
  assert.equal(lineOf(text, ["data", "other"]), 5);
  assert.equal(lineOf(text, ["spec"]), 6);
});

test("a key is written in the mapping around it", () => {
  assert.deepEqual(at(`${POD}  res|`), {path: ["spec"], isValue: false, isItem: false, typed: "res", from: 2});
  assert.deepEqual(at("spec:\n  containers:\n  - na|").path, ["spec", "containers", 0]);
  assert.deepEqual(at("spec:\n  containers:\n  - name: a\n    im|").path, ["spec", "containers", 0]);
});

test("on an empty line its indentation decides", () => {
  assert.deepEqual(at("spec:\n  containers:\n  - name: a\n    |").path, ["spec", "containers", 0]);
  assert.deepEqual(at("spec:\n  containers:\n  - name: a\n  |").path, ["spec"]);
  assert.deepEqual(at("spec:\n  a: 1\n|").path, []);
});

test("behind a colon a value is written", () => {
  const {path, isValue, typed, from} = at("spec:\n  restartPolicy: Al|");
  assert.deepEqual([path, isValue, typed, from], [["spec", "restartPolicy"], true, "Al", 17]);
  assert.deepEqual(at("spec:\n  tolerations:\n  - operator: |").path, ["spec", "tolerations", 0, "operator"]);
});

test("the document before does not count", () => {
  assert.deepEqual(at("spec:\n  a: 1\n---\nkind: |").path, ["kind"]);
});

test("a refusal names its field", () => {
  const refusal = 'Invalid: Pod web is invalid: spec.containers[0].resources.requests.cpu: Invalid value: "x"';
  assert.equal(pathIn(refusal), "spec.containers[0].resources.requests.cpu");
  assert.deepEqual(readPath("spec.containers[0].image"), ["spec", "containers", 0, "image"]);
  assert.deepEqual(readPath("metadata.labels[a.b/c]"), ["metadata", "labels", "a.b/c"]);
  assert.equal(pathIn("no such thing"), "");
});
