/** A run in which much goes wrong: whatever a page draws of an object comes from the object's one health. */
import assert from "node:assert/strict";
import {test} from "node:test";

import {openingOf} from "../../../../static/js/model/health/health.js";
import {troubleHealth} from "../../../../static/js/model/health/operations.js";
import {podHealth, podStates} from "../../../../static/js/model/health/pod.js";
import {nodeAnswer} from "../../../../static/js/model/nodes/node_answer.js";
import {podsOf} from "../../../../static/js/model/nodes/node_pods.js";
import {lifeOf} from "../../../../static/js/model/pods/life.js";
import {spotHealth} from "../../../../static/js/model/run/comparison.js";
import {healthOf, ledByHealth} from "../../../../static/js/model/run/health_of.js";
import {RunModel} from "../../../../static/js/model/run/run_model.js";
import {placeOf} from "../../../../static/js/model/volumes/chains.js";
import {userOf} from "../../../../static/js/model/volumes/claims.js";
import {allChains} from "../volumes/all_chains.js";

const ERROR = 'MountVolume.MountDevice failed for volume "d1" : wrong fs type';
const FAILED = {name: "volume_mount", failures: 5, error: ERROR, failed: 6e9, retry_at: 10e9};
const DISK = {name: "d1", attachable: true, attached: true, desired: {"shop/web": 1e9}, operations: {"*": FAILED}};
const REFUSED = {name: "ProvisioningFailed", failures: 7, error: "no space", failed: 6e9, retry_at: 12e9};
const UNWRITTEN = {name: "WriteRefused", failures: 2, error: "conflict", failed: 6e9, retry_at: 15e9};
const UNGROWN = {name: "VolumeResizeFailed", failures: 2, error: "offline only", failed: 6e9};
const KEPT = {name: "VolumeFailedDelete", failures: 3, error: "in use", failed: 6e9};
const UNMADE = {name: "FailedCreate", failures: 1, error: "exceeded quota", failed: 6e9};
const UNPREPARED = {name: "FailedPrepareDynamicResources", failures: 4, error: "no driver", failed: 6e9};
const TOLD = {name: "FailedAttachVolume", failures: 9, error: "rpc error", failed: -180e9};
const CREATING = {container: "app", reason: "ContainerCreating", since: -3 * 3600e9};
const PULLING = {container: "app", reason: "ImagePullBackOff", message: "Back-off", is_fault: true, since: -60e9};
const CRASHING = {container: "app", reason: "CrashLoopBackOff", restarts: 7, is_fault: true, since: -60e9};
const UNREADY = {reason: "ContainersNotReady", message: "unready: [app]", since: -700e9};
const STATE = {
  "node/n1": {ready: true, zone: "a", volumes: {disk: DISK}},
  "node/dead": {ready: false, zone: "a"},
  "pod/shop/web": {node: "n1", phase: "Pending", claims: ["data"]},
  "pod/shop/caught": {node: "dead", phase: "Running"},
  "pod/shop/leaving": {node: "dead", phase: "Running", deleting: 2e9},
  "pod/shop/orphan": {node: "gone", phase: "Running"},
  "pod/shop/urgent": {nominated: "n1", queue: "unschedulable", claims: ["lost"]},
  "pod/shop/victim": {node: "n1", phase: "Running", deleting: 20e9},
  "pod/shop/refused": {queue: "unschedulable", claims: ["refused"], blocker: {short: "unbound claim", attempt: 2}},
  "pod/shop/granted": {assumed: "n1", claims: ["refused"]},
  "pod/shop/deviceless": {node: "n1", phase: "Pending", trouble: UNPREPARED},
  "pod/shop/told": {node: "n1", phase: "Pending", trouble: TOLD},
  "pod/shop/creating": {node: "n1", phase: "Pending", told: CREATING},
  "pod/shop/young": {node: "n1", phase: "Pending", told: {...CREATING, since: -60e9}},
  "pod/shop/pulling": {node: "n1", phase: "Pending", told: PULLING, trouble: {...TOLD, name: "BackOff"}},
  "pod/shop/crashing": {node: "n1", phase: "Running", told: CRASHING},
  "pod/shop/unready": {node: "n1", phase: "Running", told: UNREADY},
  "claim/shop/refused": {phase: "Pending", class: "fast", selected_node: "n1", trouble: REFUSED},
  "claim/shop/unwritten": {phase: "Pending", class: "fast", selected_node: "n1", trouble: UNWRITTEN},
  "claim/shop/grows": {phase: "Bound", volume: "d3", trouble: UNGROWN},
  "claim/shop/a-well": {phase: "Bound", volume: "d4"},
  "volume/d4": {phase: "Bound", claim: "shop/a-well"},
  "volume/d3": {phase: "Bound", claim: "shop/grows"},
  "volume/kept": {phase: "Failed", reclaim: "Delete", trouble: KEPT},
  "replicaset/shop/web-1": {trouble: UNMADE},
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
  refused: "failing",
  granted: "failing",
  deviceless: "failing",
  told: "failing",
  creating: "stuck",
  young: "waiting",
  pulling: "failing",
  crashing: "failing",
  unready: "stuck",
};
/** What fails beside volumes on nodes, and how every page says so. */
const FAILING = {
  "claim/shop/refused": "provisioning failed 7 times, next try at 12.000 s",
  "claim/shop/unwritten": "write of the PV controller failed 2 times, next try at 15.000 s",
  "claim/shop/grows": "expansion failed 2 times, last at 6.000 s",
  "volume/kept": "deletion failed 3 times, last at 6.000 s",
  "replicaset/shop/web-1": "creation of its pods failed once, last at 6.000 s",
  "pod/shop/deviceless": "preparation of its devices failed 4 times, last at 6.000 s",
  "pod/shop/told": "attachment of a volume failed 9 times, last 180.00 s before the start",
  "pod/shop/refused": "refused: provisioning failed 7 times, next try at 12.000 s",
  "pod/shop/granted": "refused: provisioning failed 7 times, next try at 12.000 s",
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

test("waiting reasons of the files are said on every page", () => {
  const model = modelOf();
  const words = Object.keys(STATES)
    .filter((name) => STATE[`pod/shop/${name}`].told)
    .map((name) => healthOf(`pod/shop/${name}`, model).detail);
  assert.deepEqual(words, [
    "ContainerCreating on n1 since 3 h 00 min before the start",
    "ContainerCreating on n1 since 60.00 s before the start",
    "app: ImagePullBackOff; start of a container failed 9 times, last 180.00 s before the start: Back-off",
    "app: CrashLoopBackOff, restarted 7 times",
    "runs on n1 and is not ready since 11 min 40 s before the start: ContainersNotReady: unready: [app]",
  ]);
});

test("the pod's own page leads with its health", () => {
  const model = modelOf();
  for (const id of PODS) assert.deepEqual(podStates(id, STATE[id], model)[0], drawn(healthOf(id, model)), id);
});

test("the page of a node lists its pods with their health", () => {
  const model = modelOf();
  const listed = ["n1", "dead", "gone"].flatMap((name) => podsOf(name, model.nodes.pods.get(name), model));
  assert.equal(listed.length, PODS.filter((id) => STATE[id].node || STATE[id].nominated || STATE[id].assumed).length);
  for (const {id, health} of listed) assert.deepEqual(health, healthOf(id, model), id);
});

test("the list of nodes tells what the tab and card tell", () => {
  const model = modelOf();
  for (const [name, node] of model.nodes.byName) {
    const answer = nodeAnswer(name, node, model.nodes.pods.get(name) ?? new Map(), model.at);
    assert.deepEqual(drawn(answer), drawn(healthOf(`node/${name}`, model)), name);
  }
});

test("chains of volumes show the health of the pod", () => {
  const model = modelOf();
  const rows = allChains(model);
  assert.equal(rows.length, 7);
  for (const {claimId} of rows) {
    const user = claimId && userOf(model.claims.usersOf(claimId, model.entities));
    if (!user) continue;
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
    const claims = pod.node ? null : {"claim/shop/refused": STATE["claim/shop/refused"]};
    assert.deepEqual(spotHealth(id, {pod, host, ending, claims}, model.at), healthOf(id, model), id);
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

test("whatever is refused is failing, with how often and when next", () => {
  const model = modelOf();
  for (const [id, words] of Object.entries(FAILING)) {
    const health = healthOf(id, model);
    assert.deepEqual([health.state, health.words], ["failing", words], id);
    assert.ok(health.detail.endsWith(STATE[id].trouble?.error ?? REFUSED.error), id);
  }
});

test("names stay as they are where a sentence begins", () => {
  const model = modelOf();
  const opening = (name) => openingOf(healthOf(`pod/shop/${name}`, model));
  assert.match(opening("crashing"), /^app: CrashLoopBackOff, /);
  assert.match(opening("refused"), /^refused: provisioning failed/);
  assert.match(opening("unready"), /^Runs on n1 and is not ready/);
  const unknown = {trouble: {...UNMADE, name: "quotaExceeded"}};
  assert.match(openingOf(troubleHealth(unknown)), /^quotaExceeded failed once/);
});

test("a refused claim is failing in its steps, answer and row", () => {
  const model = modelOf();
  const id = "claim/shop/refused";
  const {words, mark, family} = healthOf(id, model);
  const [provision] = model.claims.steps(id, STATE[id], model);
  assert.deepEqual([provision.what, provision.mark, provision.family], [words, mark, family]);
  const waits = {family: "clock", sentence: "Waiting for acme.io.", figure: null, fixes: []};
  assert.match(ledByHealth(id, model, waits).sentence, /^Provisioning failed 7 times.*: no space\. Waiting/);
  const open = ["claim/shop/data", "claim/shop/grows", "claim/shop/lost", id];
  assert.deepEqual(model.claims.first(model, 4), open);
});

test("a claim of an older history waits where nothing is said", () => {
  const model = new RunModel();
  const claim = {...STATE["claim/shop/refused"], trouble: undefined};
  model.reset({seq: 1, at: 8e9, events: [], state: {"claim/shop/refused": claim}});
  assert.equal(healthOf("claim/shop/refused", model).state, "waiting");
});
