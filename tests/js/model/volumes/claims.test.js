import assert from "node:assert/strict";
import {test} from "node:test";

import {bindingOf} from "../../../../static/js/model/volumes/binding.js";
import {stepsOf} from "../../../../static/js/model/volumes/binding_steps.js";
import {Claims, bindingMode, claimState, claimSteps} from "../../../../static/js/model/volumes/claims.js";

const model = {
  entities: new Map([["node/n1", {ready: true}]]),
  nodes: {pods: new Map(), troubles: () => new Map()},
  at: 0,
};
const status = (claim, holder, users = []) =>
  claimSteps(claim, {holder, mode: "", users, model}).map((step) => step.status);

test("a bound claim needs both references and phase", () => {
  assert.equal(claimState({phase: "Bound", volume: "pv-1"}, "pv-1"), "bound");
  assert.equal(claimState({phase: "Pending", volume: "pv-1"}, "pv-1"), "half");
});

test("one reference alone makes a claim half-bound", () => {
  assert.equal(claimState({phase: "Pending"}, "pv-1"), "half");
  assert.equal(claimState({phase: "Bound", volume: "pv-1"}, null), "half");
  assert.equal(claimState({phase: "Bound", volume: "pv-1"}, "pv-2"), "half");
});

test("an unbound claim says what it waits for", () => {
  const late = "WaitForFirstConsumer";
  assert.equal(claimState({phase: "Pending"}, null, late), "waiting");
  assert.equal(claimState({phase: "Pending", selected_node: "n1"}, null, late), "provisioning");
  assert.equal(claimState({phase: "Pending"}, null, "Immediate"), "pending");
  assert.equal(claimState({phase: "Lost", volume: "pv-1"}, null), "lost");
});

test("the class determines the binding mode", () => {
  const entities = new Map([["class/local", {binding_mode: "WaitForFirstConsumer"}]]);
  assert.equal(bindingMode({class: "local"}, entities), "WaitForFirstConsumer");
  assert.equal(bindingMode({class: "gone"}, entities), "");
});

test("a claim passes provision, bind and use", () => {
  const user = (pod) => [["pod/shop/db-0", pod]];
  assert.deepEqual(status({phase: "Pending"}, null), ["now", "todo", "todo"]);
  assert.deepEqual(status({phase: "Pending"}, "pv-1", user({})), ["done", "now", "todo"]);
  const bound = {phase: "Bound", volume: "pv-1"};
  assert.deepEqual(status(bound, "pv-1", user({node: "n1"})), ["done", "done", "now"]);
  assert.deepEqual(status(bound, "pv-1", user({node: "n1", phase: "Running"})), ["done", "done", "done"]);
});

test("a lost claim waits for the volume that was deleted", () => {
  const lost = {phase: "Lost", volume: "pv-1", completed: true};
  const users = [["pod/ci/archive-1", {}]];
  const words = (claim, volume) => claimSteps(claim, {holder: null, mode: "", users, volume}).map(({what}) => what);
  assert.deepEqual(words(lost), [
    "pv-1 was deleted",
    "the volume no longer exists",
    "archive-1 waits for a deleted volume",
  ]);
  assert.equal(words(lost, {claim: "ci/other"})[1], "pv-1 is bound to ci/other");
  assert.equal(words({...lost, phase: "Bound"})[1], "pv-1 was deleted");
});

test("the board and the page of volumes tell the same of a claim", () => {
  const claims = new Claims();
  const claim = {phase: "Lost", volume: "pv-1", completed: true};
  claims.updateClaim("claim/ci/data", undefined, claim);
  const binding = bindingOf({
    claimId: "claim/ci/data",
    claim,
    volumeId: "volume/pv-1",
    holder: null,
    mode: "",
    users: [],
    events: [],
  });
  const words = (steps) => steps.slice(1, 3).map((step) => [step.status, step.mark, step.family, step.what]);
  assert.deepEqual(words(stepsOf(binding)), words(claims.steps("claim/ci/data", claim, model)));
});

test("a claim finds its volume and its pods", () => {
  const claims = new Claims();
  const entities = new Map([["pod/shop/db-0", {claims: ["data"]}]]);
  claims.updateClaim("claim/shop/data", undefined, {phase: "Pending"});
  claims.updateVolume("volume/pv-1", undefined, {claim: "shop/data"});
  claims.updatePod("pod/shop/db-0", undefined, entities.get("pod/shop/db-0"));
  assert.equal(claims.holder("claim/shop/data"), "pv-1");
  assert.deepEqual(
    claims.usersOf("claim/shop/data", entities).map(([id]) => id),
    ["pod/shop/db-0"],
  );
  claims.updateVolume("volume/pv-1", {claim: "shop/data"}, {});
  assert.equal(claims.holder("claim/shop/data"), null);
});

test("the volume that the claim names holds it", () => {
  const claims = new Claims();
  claims.updateVolume("volume/pv-1", undefined, {claim: "shop/data"});
  claims.updateVolume("volume/pv-2", undefined, {claim: "shop/data"});
  assert.equal(claims.holder("claim/shop/data", {}), "pv-1");
  assert.equal(claims.holder("claim/shop/data", {volume: "pv-2"}), "pv-2");
});

test("unfinished claims come before bound ones", () => {
  const claims = new Claims();
  const entities = new Map();
  const put = (name, claim, volume) => {
    entities.set(`claim/a/${name}`, claim);
    claims.updateClaim(`claim/a/${name}`, undefined, claim);
    if (volume) claims.updateVolume(`volume/${volume}`, undefined, {claim: `a/${name}`});
  };
  put("a-bound", {phase: "Bound", volume: "v1"}, "v1");
  put("b-open", {phase: "Pending"});
  put("c-half", {phase: "Bound", volume: "v3"});
  assert.deepEqual(claims.first({...model, entities}, 2), ["claim/a/b-open", "claim/a/c-half"]);
  assert.equal(claims.first({...model, entities}, 9).length, 3);
});
