import assert from "node:assert/strict";
import {test} from "node:test";

import {Claims, bindingMode, claimState, claimSteps} from "../../../static/js/model/claims.js";

const status = (claim, holder, users = []) => claimSteps(claim, holder, "", users).map((step) => step.status);

test("a claim is bound when both sides agree", () => {
  assert.equal(claimState({phase: "Bound", volume: "pv-1"}, "pv-1"), "bound");
  assert.equal(claimState({phase: "Pending", volume: "pv-1"}, "pv-1"), "half");
});

test("a claim is half-bound when one side alone is written", () => {
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

test("the class of a claim says when it binds", () => {
  const entities = new Map([["class/local", {binding_mode: "WaitForFirstConsumer"}]]);
  assert.equal(bindingMode({class: "local"}, entities), "WaitForFirstConsumer");
  assert.equal(bindingMode({class: "gone"}, entities), "");
});

test("the steps go on from provision to bind to use", () => {
  const user = (pod) => [["pod/shop/db-0", pod]];
  assert.deepEqual(status({phase: "Pending"}, null), ["now", "todo", "todo"]);
  assert.deepEqual(status({phase: "Pending"}, "pv-1", user({})), ["done", "now", "todo"]);
  const bound = {phase: "Bound", volume: "pv-1"};
  assert.deepEqual(status(bound, "pv-1", user({node: "n1"})), ["done", "done", "now"]);
  assert.deepEqual(status(bound, "pv-1", user({node: "n1", phase: "Running"})), ["done", "done", "done"]);
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

test("a claim belongs to the volume it names", () => {
  const claims = new Claims();
  claims.updateVolume("volume/pv-1", undefined, {claim: "shop/data"});
  claims.updateVolume("volume/pv-2", undefined, {claim: "shop/data"});
  assert.equal(claims.holder("claim/shop/data", {}), "pv-1");
  assert.equal(claims.holder("claim/shop/data", {volume: "pv-2"}), "pv-2");
});

test("claims that still need something come before those that are bound", () => {
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
  assert.deepEqual(claims.first(entities, 2), ["claim/a/b-open", "claim/a/c-half"]);
  assert.equal(claims.first(entities, 9).length, 3);
});
