import assert from "node:assert/strict";
import {test} from "node:test";

import {claimAnswer, volumeAnswer} from "../../../static/js/model/binding.js";
import {RunModel} from "../../../static/js/model/run_model.js";
import {claimLook} from "../../../static/js/model/claims.js";
import {isTerminating, lookOf, terminatingWords} from "../../../static/js/model/terminating.js";

const SECOND = 1e9;
const HELD = {phase: "Bound", volume: "pv", deleting: 12 * SECOND, finalizers: ["kubernetes.io/pvc-protection"]};
const USER = ["pod/shop/web", {node: "n1", phase: "Running"}];

test("a deleted claim that is still there is not shown as bound", () => {
  assert.equal(claimLook(HELD, "bound").text, "Terminating");
  assert.equal(claimLook({phase: "Bound"}, "bound").text, "Bound");
  assert.equal(lookOf({deleting: 0}, {text: "Available"}).family, "stuck");
  assert.equal(isTerminating({deleting: 0}), true);
});

test("what holds a deleted claim is named with its reason", () => {
  const words = (users) => terminatingWords(HELD, {users, at: 20 * SECOND});
  const held = "Terminating since 12.000 s: blocked by the finalizer kubernetes.io/pvc-protection";
  assert.equal(words([USER]), `${held}, because pod web uses it.`);
  assert.equal(words([USER, ["pod/shop/api", {node: "n1"}]]), `${held}, because 2 pods use it, web among them.`);
  assert.equal(words([["pod/shop/job", {phase: "Succeeded"}]]), `${held}, although no pod uses it any more.`);
});

test("several finalizers are all named, none says so", () => {
  const volume = {
    deleting: 5 * SECOND,
    finalizers: ["kubernetes.io/pv-protection", "external-attacher/csi-x", "shop.example.com/keep"],
  };
  assert.equal(
    terminatingWords(volume, {claimKey: "shop/data", at: 9 * SECOND}),
    "Terminating since 5.000 s: blocked by the finalizers kubernetes.io/pv-protection, because it is bound to shop/data; and " +
      "external-attacher/csi-x, until no node has it attached; and shop.example.com/keep.",
  );
  assert.equal(terminatingWords({deleting: 0}, {at: 1}), "Terminating: no finalizer is left.");
});

const BINDING = {
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

test("a terminating claim shows what holds it", () => {
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

test("a terminating claim comes first among the claims, and machines count it", () => {
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
  assert.deepEqual(model.claims.first(model.entities, 5), ["claim/shop/data", "claim/shop/a"]);
  assert.equal(model.tallies.get("claim").terminating, 1);
  assert.equal(model.tallies.get("claim").count("bound"), 2);
});
