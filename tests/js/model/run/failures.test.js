import assert from "node:assert/strict";
import {test} from "node:test";

import {commandOf, failuresOf, faultText} from "../../../../static/js/model/run/failures.js";

const model = (id, object) => ({entities: new Map([[id, object]])});
const texts = (id, object) => failuresOf(id, model(id, object)).map(({text}) => text);

function chosen(id, object, text, value = "") {
  const choice = failuresOf(id, model(id, object)).find((each) => each.text === text);
  return commandOf(choice, value);
}

test("a node that works can stop or lose its power", () => {
  assert.deepEqual(chosen("node/n1", {ready: true}, "Stop its kubelet"), {verb: "stop_kubelet", object: "node/n1"});
  assert.deepEqual(chosen("node/n1", {ready: true}, "Turn its power off"), {verb: "fault", patch: {die: "n1"}});
});

test("a node that is not ready can only return", () => {
  const found = texts("node/n1", {ready: false});
  assert.ok(found.includes("Bring it back: power and kubelet"));
  assert.ok(!found.includes("Stop its kubelet"));
});

test("a driver is unregistered on the node of the page", () => {
  const text = "Unregister a driver here";
  assert.equal(chosen("node/n1", {ready: true}, text, " "), null);
  const patch = {unregister: "csi.example.com", node: "n1"};
  assert.deepEqual(chosen("node/n1", {ready: true}, text, " csi.example.com "), {verb: "fault", patch});
});

test("a volume fails its next calls so many times", () => {
  const text = "Fail the next mount of pv-1";
  assert.deepEqual(chosen("volume/pv-1", {}, text, "3").patch, {fail: "mount", volume: "pv-1", times: 3});
  for (const wrong of ["0", "", "1.5", "x"]) assert.equal(chosen("volume/pv-1", {}, text, wrong), null);
});

test("a released volume can be refused its deletion", () => {
  const {patch} = chosen("volume/pv-1", {}, "Fail the next deletion of its storage", "2");
  assert.deepEqual(patch, {fail: "delete", volume: "pv-1", times: 2});
});

test("a claim can be refused its volume", () => {
  const {patch} = chosen("claim/shop/data", {}, "Fail the next provisioning of its volume", "1");
  assert.deepEqual(patch, {fail: "provision", claim: "shop/data", times: 1});
});

test("a Secret of the pod's namespace can be missing", () => {
  const {patch} = chosen("pod/shop/web", {}, "Take away a Secret", "cert");
  assert.deepEqual(patch, {missing: "secret/shop/cert"});
  const again = chosen("pod/shop/web", {}, "Bring back a Secret", "cert");
  assert.deepEqual(again.patch, {present: "secret/shop/cert"});
});

test("only a pod with a node can be healed", () => {
  const text = "Play on as if its containers were healthy";
  assert.ok(!texts("pod/shop/web", {}).includes(text));
  assert.deepEqual(chosen("pod/shop/web", {node: "n1"}, text).patch, {heal: "pod/shop/web"});
});

test("a fault is asked about in the words of its event", () => {
  assert.equal(faultText({unregister: "csi.example.com", node: "n1"}), "unregister csi.example.com, node n1");
});
