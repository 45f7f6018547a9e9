import assert from "node:assert/strict";
import {test} from "node:test";

import {Schema, newText, valuesIn} from "../../../../static/js/model/acting/schema.js";

const SCHEMA = new Schema({
  root: "Pod",
  definitions: {
    Pod: {properties: {spec: {ref: "io.PodSpec", description: "what it is to be"}, kind: {type: "string"}}},
    "io.PodSpec": {
      required: ["containers"],
      properties: {
        restartPolicy: {type: "string", description: "Restart policy. One of Always, OnFailure, Never. In some"},
        hostNetwork: {type: "boolean"},
        containers: {type: "array", items: {ref: "io.Container"}},
        nodeSelector: {type: "object", additionalProperties: {type: "string"}},
      },
    },
    "io.Container": {required: ["name"], properties: {name: {type: "string"}, image: {type: "string"}}},
  },
});

test("fields of a nested mapping are found through references", () => {
  assert.deepEqual(
    SCHEMA.fieldsAt(["spec", "containers", 0]).map(({name}) => name),
    ["name", "image"],
  );
  assert.deepEqual(SCHEMA.fieldsAt(["spec", "nothing"]), []);
});

test("required fields come first, each with its type", () => {
  const [first, ...others] = SCHEMA.fieldsAt(["spec"]);
  assert.deepEqual([first.name, first.type, first.isRequired], ["containers", "[]Container", true]);
  assert.equal(others.find(({name}) => name === "nodeSelector").type, "map of string");
});

test("values are those that the field may have", () => {
  assert.deepEqual(SCHEMA.valuesAt(["spec", "restartPolicy"]), ["Always", "OnFailure", "Never"]);
  assert.deepEqual(SCHEMA.valuesAt(["spec", "hostNetwork"]), ["true", "false"]);
  assert.deepEqual(SCHEMA.valuesAt(["spec", "containers", 0, "image"]), []);
});

test("sentences of Kubernetes list values in several ways", () => {
  assert.deepEqual(valuesIn("Valid operators are In, NotIn, Exists and DoesNotExist."), [
    "In",
    "NotIn",
    "Exists",
    "DoesNotExist",
  ]);
  assert.deepEqual(valuesIn("Must be UDP, TCP, or SCTP. Defaults"), ["UDP", "TCP", "SCTP"]);
  assert.deepEqual(valuesIn('Valid values are "Merge" and "Strict". If'), ["Merge", "Strict"]);
  assert.deepEqual(valuesIn("Must be a DNS_LABEL and unique within the pod."), []);
});

test("what is said where a type is referred to comes first", () => {
  assert.equal(SCHEMA.wordsAt(["spec"]).text, "what it is to be");
  assert.equal(SCHEMA.wordsAt(["spec"]).type, "PodSpec");
});

test("a new object begins with what it has to have", () => {
  const text = newText({api_version: "v1", kind: "Pod", namespaced: true}, SCHEMA);
  assert.equal(
    text,
    "apiVersion: v1\nkind: Pod\nmetadata:\n  name: \n  namespace: default\nspec:\n  containers:\n    - name: \n",
  );
});
