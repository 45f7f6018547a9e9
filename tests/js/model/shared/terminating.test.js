import assert from "node:assert/strict";
import {test} from "node:test";

import {nodeAnswer} from "../../../../static/js/model/nodes/node_answer.js";
import {nodeStates} from "../../../../static/js/model/nodes/node_facts.js";
import {RunModel} from "../../../../static/js/model/run/run_model.js";
import {stepsOf} from "../../../../static/js/model/volumes/binding_steps.js";
import {linkLook} from "../../../../static/js/model/volumes/chains.js";
import {claimAnswer} from "../../../../static/js/model/volumes/claim_answer.js";
import {claimLook, claimSteps} from "../../../../static/js/model/volumes/claims.js";
import {holdWords, isTerminating, lookOf, terminatingWords} from "../../../../static/js/model/shared/terminating.js";
import {volumeAnswer} from "../../../../static/js/model/volumes/volume_answer.js";

const SECOND = 1e9;
const HELD = {phase: "Bound", volume: "pv", deleting: 12 * SECOND, finalizers: ["kubernetes.io/pvc-protection"]};
const USER = ["pod/shop/web", {node: "n1", phase: "Running"}];

test("a terminating claim is not shown as bound", () => {
  assert.equal(claimLook(HELD, "bound").text, "Terminating");
  assert.equal(claimLook({phase: "Bound"}, "bound").text, "Bound");
  assert.equal(lookOf({deleting: 0}, {text: "Available"}).family, "stuck");
  assert.equal(isTerminating({deleting: 0}), true);
});

test("a finalizer is named with its reason", () => {
  const words = (users) => terminatingWords(HELD, {users, at: 20 * SECOND});
  const held = "Terminating since 12.000 s: blocked by the finalizer kubernetes.io/pvc-protection";
  assert.equal(words([USER]), `${held}, because pod web uses it.`);
  assert.equal(words([USER, ["pod/shop/api", {node: "n1"}]]), `${held}, because 2 pods use it, web among them.`);
  assert.equal(words([["pod/shop/job", {phase: "Succeeded"}]]), `${held}, although no pod uses it any more.`);
});

test("all finalizers are named", () => {
  const volume = {
    deleting: 5 * SECOND,
    finalizers: ["kubernetes.io/pv-protection", "external-attacher/csi-x", "shop.example.com/keep"],
  };
  assert.equal(
    terminatingWords(volume, {claimKey: "shop/data", at: 9 * SECOND}),
    "Terminating since 5.000 s: blocked by the finalizers kubernetes.io/pv-protection, because it is bound to shop/data; " +
      "external-attacher/csi-x, until no node has it attached; shop.example.com/keep.",
  );
  assert.equal(terminatingWords({deleting: 0}, {at: 1}), "Terminating: no finalizer is left.");
});

const MODEL = {entities: new Map([["node/n1", {ready: true}]]), nodes: {pods: new Map()}, at: 0};
const BINDING = {
  model: MODEL,
  claimId: "claim/shop/data",
  claimKey: "shop/data",
  volumeId: "volume/pv",
  volumeName: "pv",
  holder: "pv",
  mode: "Immediate",
  users: [USER],
  events: [],
  at: 20 * SECOND,
  state: "bound",
  since: null,
  storageClass: undefined,
};

test("a terminating claim names its finalizers", () => {
  const claim = HELD;
  const volume = {phase: "Bound", claim: "shop/data"};
  const {family, sentence} = claimAnswer({...BINDING, claim, volume}, null);
  assert.equal(family, "stuck");
  assert.match(sentence, /^Terminating since .* because pod web uses it\. It is still bound to pv\.$/);
  const other = volumeAnswer({...BINDING, claim, volume});
  assert.deepEqual(
    [other.family, other.sentence.startsWith("pv is Bound; its claim shop/data is being deleted.")],
    ["stuck", true],
  );
  const ends = volumeAnswer({
    ...BINDING,
    claim: {phase: "Bound", volume: "pv"},
    volume: {...volume, deleting: 0, finalizers: ["kubernetes.io/pv-protection"]},
  });
  assert.match(ends.sentence, /^Terminating: .*because it is bound to shop\/data\.$/);
});

test("a terminating claim comes first and is counted", () => {
  const model = new RunModel();
  model.reset({
    seq: 1,
    at: 1,
    events: [],
    state: {
      "claim/shop/a": {phase: "Bound", volume: "pv-a"},
      "volume/pv-a": {phase: "Bound", claim: "shop/a"},
      "claim/shop/data": HELD,
      "volume/pv": {phase: "Bound", claim: "shop/data"},
    },
  });
  assert.deepEqual(model.claims.first(model, 5), ["claim/shop/data", "claim/shop/a"]);
  assert.equal(model.tallies.get("claim").terminating, 1);
  assert.equal(model.tallies.get("claim").count("bound"), 2);
});

const NODES = new Map([
  ["node/up", {ready: true}],
  ["node/down", {ready: false}],
]);

function heldPod(pod) {
  const entities = new Map([...NODES, ["pod/shop/web", {deleting: 12 * SECOND, phase: "Running", ...pod}]]);
  return holdWords("pod/shop/web", {entities, at: 20 * SECOND});
}

test("a terminating pod names its kubelet", () => {
  const unconfirmed = "so no kubelet confirms that its containers have ended.";
  assert.equal(
    heldPod({node: "up"}),
    "Terminating since 12.000 s: the kubelet of up ends its containers within the grace period.",
  );
  assert.equal(heldPod({node: "down"}), `Terminating since 12.000 s: node down is NotReady, ${unconfirmed}`);
  assert.equal(heldPod({node: "gone"}), `Terminating since 12.000 s: node gone does not exist, ${unconfirmed}`);
  assert.equal(
    heldPod({node: "up", finalizers: ["a.example/keep"]}),
    "Terminating since 12.000 s: blocked by the finalizer a.example/keep.",
  );
});

test("the words follow from the state that is shown", () => {
  const model = new RunModel();
  const ending = {...HELD, claim: "shop/data", finalizers: ["kubernetes.io/pv-protection"]};
  const state = {"claim/shop/data": HELD, "volume/pv": ending, "pod/shop/web": {...USER[1], claims: ["data"]}};
  model.reset({seq: 1, at: 20 * SECOND, events: [], state: {...state, "node/n1": {ready: true}}});
  assert.match(holdWords("claim/shop/data", model), /because pod web uses it\.$/);
  assert.match(holdWords("volume/pv", model), /because it is bound to shop\/data\.$/);
  assert.equal(holdWords("node/n1", model), "");
  assert.equal(holdWords("node/gone", model), "");
});

test("no step of a terminating object looks settled", () => {
  const volume = {phase: "Bound", claim: "shop/data"};
  const families = (binding) =>
    stepsOf({...BINDING, ...binding}).flatMap((step) => [step, ...step.parts].map(({family}) => family));
  assert.ok(families({claim: {phase: "Bound", volume: "pv"}, volume}).includes("settled"));
  assert.ok(!families({claim: HELD, volume}).includes("settled"));
  const leaving = {...volume, deleting: 5};
  assert.ok(!families({claim: {phase: "Bound", volume: "pv"}, volume: leaving}).includes("settled"));
  assert.ok(!families({claim: undefined, volume: leaving}).includes("settled"));
  assert.ok(
    !claimSteps(HELD, {holder: "pv", mode: "Immediate", users: [USER], model: MODEL}).some(
      ({family}) => family === "settled",
    ),
  );
});

test("a chain with a terminating object is not drawn as bound", () => {
  assert.equal(linkLook({link: "bound"}, HELD, {phase: "Bound"}), "ending");
  assert.equal(linkLook({link: "bound"}, {phase: "Bound"}, {deleting: 1}), "ending");
  assert.equal(linkLook({link: "bound"}, {phase: "Bound"}, undefined), "bound");
});

test("a terminating node says so first", () => {
  const node = {ready: true, deleting: 12 * SECOND, finalizers: ["a.example/keep"]};
  assert.deepEqual(nodeStates(node).at(-1), ["victim", "stuck", "terminating"]);
  const {family, sentence} = nodeAnswer("n1", node, new Map(), 20 * SECOND);
  assert.equal(family, "stuck");
  assert.equal(sentence, "n1 is being deleted. Terminating since 12.000 s: blocked by the finalizer a.example/keep.");
});
