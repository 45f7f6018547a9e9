/** A run in which much goes wrong: whatever a page draws of an object comes from the object's one health. */
import assert from "node:assert/strict";
import {test} from "node:test";

import {podHealth, podStates} from "../../../../static/js/model/health/pod.js";
import {listNodes} from "../../../../static/js/model/nodes/node_list.js";
import {podsOf} from "../../../../static/js/model/nodes/node_pods.js";
import {lifeOf} from "../../../../static/js/model/pods/life.js";
import {spotHealth} from "../../../../static/js/model/run/comparison.js";
import {healthOf, ledByHealth} from "../../../../static/js/model/run/health_of.js";
import {RunModel} from "../../../../static/js/model/run/run_model.js";
import {Chains, placeOf} from "../../../../static/js/model/volumes/chains.js";
import {userOf} from "../../../../static/js/model/volumes/claims.js";

const ERROR = 'MountVolume.MountDevice failed for volume "d1" : wrong fs type';
const FAILED = {name: "volume_mount", failures: 5, error: ERROR, failed: 6e9, retry_at: 10e9};
const DISK = {name: "d1", attachable: true, attached: true, desired: {"shop/web": 1e9}, operations: {"*": FAILED}};
const STATE = {
  "node/n1": {ready: true, zone: "a", volumes: {disk: DISK}},
  "node/dead": {ready: false, zone: "a"},
  "pod/shop/web": {node: "n1", phase: "Pending", claims: ["data"]},
  "pod/shop/caught": {node: "dead", phase: "Running"},
  "pod/shop/leaving": {node: "dead", phase: "Running", deleting: 2e9},
  "pod/shop/orphan": {node: "gone", phase: "Running"},
  "pod/shop/urgent": {nominated: "n1", queue: "unschedulable", claims: ["lost"]},
  "pod/shop/victim": {node: "n1", phase: "Running", deleting: 20e9},
  "claim/shop/data": {phase: "Bound", volume: "d1"},
  "claim/shop/lost": {phase: "Lost", volume: "d2"},
  "volume/d1": {phase: "Bound", claim: "shop/data"},
};
const STATES = {
  web: "failing",
  caught: "stuck",
  leaving: "stuck",
  orphan: "stuck",
  urgent: "waiting",
  victim: "waiting",
};
const PODS = Object.keys(STATE).filter((id) => id.startsWith("pod/"));

function modelOf() {
  const model = new RunModel();
  model.reset({seq: 1, at: 8e9, events: [], state: STATE});
  return model;
}

/** What a page draws of an object. */
const drawn = ({mark, family, words}) => [mark, family, words];

test("every pod has the state that it is in", () => {
  const model = modelOf();
  for (const id of PODS) assert.equal(podHealth(id, STATE[id], model).state, STATES[id.slice("pod/shop/".length)], id);
});

test("the pod's own page leads with its health", () => {
  const model = modelOf();
  for (const id of PODS) assert.deepEqual(podStates(id, STATE[id], model)[0], drawn(healthOf(id, model)), id);
});

test("the page of a node lists its pods with their health", () => {
  const model = modelOf();
  const listed = ["n1", "dead", "gone"].flatMap((name) => podsOf(name, model.nodes.pods.get(name), model));
  assert.equal(listed.length, PODS.length);
  for (const {id, health} of listed) assert.deepEqual(health, healthOf(id, model), id);
});

test("the list of nodes tells what the tab and card tell", () => {
  const model = modelOf();
  const {rows, stuck} = listNodes(model.nodes, {text: "", stuckOnly: false}, model.at, 10);
  for (const {name, answer} of rows) assert.deepEqual(drawn(answer), drawn(healthOf(`node/${name}`, model)), name);
  assert.equal(stuck, rows.filter(({name}) => healthOf(`node/${name}`, model).state !== "well").length);
});

test("chains of volumes show the health of the pod", () => {
  const model = modelOf();
  const chains = new Chains();
  chains.of(model.claims, model.entities);
  const {rows} = chains.page({kind: "", text: "", page: null, id: null});
  assert.equal(rows.length, 2);
  for (const {claimId} of rows) {
    const user = userOf(model.claims.usersOf(claimId, model.entities));
    const health = healthOf(user[0], model);
    assert.deepEqual(drawn(placeOf(user[1], health, STATE[claimId], null)), drawn(health), claimId);
  }
  const steps = model.claims.steps("claim/shop/data", STATE["claim/shop/data"], model);
  assert.equal(steps.at(-1).what, `web ${healthOf("pod/shop/web", model).words}`);
});

test("a comparison shows what the board shows", () => {
  const model = modelOf();
  for (const id of PODS) {
    const pod = STATE[id];
    const host = STATE[`node/${pod.node ?? pod.nominated}`] ?? null;
    const ending = pod.nominated ? {"pod/shop/victim": STATE["pod/shop/victim"]} : null;
    assert.deepEqual(spotHealth(id, {pod, host, ending}, model.at), healthOf(id, model), id);
  }
});

test("the life of a pod is in the lane of its failure", () => {
  const changes = {"pod/shop/web": STATE["pod/shop/web"], "node/n1": STATE["node/n1"]};
  const {lanes} = lifeOf("pod/shop/web", [{seq: 1, at: 1e9, changes}], 1);
  const open = lanes.filter(({slices}) => slices.some(({to}) => to === null)).map(({key}) => key);
  assert.deepEqual(open, ["starting", "mounting"]);
  assert.match(healthOf("pod/shop/web", modelOf()).words, /^MountDevice of d1 failed 5 times/);
});

test("a bound claim is not called well while it fails", () => {
  const model = modelOf();
  const settled = {family: "settled", sentence: "Bound to d1.", figure: null, fixes: []};
  for (const id of ["claim/shop/data", "volume/d1"]) {
    const led = ledByHealth(id, model, settled);
    assert.equal(led.family, "stuck");
    assert.match(led.sentence, /^MountDevice of d1 failed 5 times.*wrong fs type\. Bound to d1\.$/);
  }
  assert.equal(ledByHealth("claim/shop/lost", model, settled), settled);
});

test("pods of a deleted node keep a card until they are gone", () => {
  const model = modelOf();
  assert.deepEqual(model.nodes.zones().at(-1), {zone: null, names: ["gone"]});
  assert.deepEqual(
    model.nodes.tiles("gone").map(({id}) => id),
    ["pod/shop/orphan"],
  );
});
