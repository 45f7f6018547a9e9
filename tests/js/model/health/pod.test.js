import assert from "node:assert/strict";
import {test} from "node:test";

import {blockerWords, podHealth} from "../../../../static/js/model/health/pod.js";

const SECOND = 1e9;
const DISK = "kubernetes.io/csi/disk.csi.example.com^d1";
const WEB = "pod/shop/web";
const PENDING = {node: "n1", phase: "Pending"};
const ERROR = 'MountVolume.MountDevice failed for volume "d1" : wrong fs type';
const FAILED = {name: "volume_mount", failures: 5, error: ERROR, failed: 6 * SECOND, retry_at: 10 * SECOND};

function modelOf(node, pods = []) {
  return {entities: new Map([["node/n1", node]]), nodes: {pods: new Map([["n1", new Map(pods)]])}, at: 8 * SECOND};
}

/** A node whose kubelet works on the disk of web. */
function nodeWith(kubelet, more = {}) {
  const disk = {name: "d1", attachable: true, attached: true, desired: {"shop/web": SECOND}, ...kubelet};
  return {ready: true, volumes: {[DISK]: disk}, ...more};
}

const healthIn = (node, pod = PENDING) => podHealth(WEB, pod, modelOf(node));

test("a failing mount says how often and when next", () => {
  const {state, family, words, detail} = healthIn(nodeWith({operations: {"*": FAILED}}));
  assert.deepEqual([state, family], ["failing", "stuck"]);
  assert.equal(words, "MountDevice of d1 failed 5 times, next try at 10.000 s");
  assert.equal(detail, `${words}: wrong fs type`);
  const again = {...FAILED, retry_at: undefined, started: 10 * SECOND};
  assert.match(healthIn(nodeWith({operations: {"*": again}})).words, /tried again since 10\.000 s$/);
});

test("the failure of another pod's mount is not its own", () => {
  const node = nodeWith({operations: {"shop/other": FAILED}});
  assert.deepEqual([healthIn(node).state, healthIn(node).words], ["waiting", "waits for the mount of d1"]);
});

test("a volume that another node has keeps it stuck", () => {
  const attachments = {[DISK]: {name: "d1", desired: {"shop/web": SECOND}, multi_attach_error_reported: true}};
  const {state, words} = healthIn({ready: true, attachments});
  assert.deepEqual([state, words], ["stuck", "d1 is attached to another node"]);
});

test("no pod on a node without kubelet is well", () => {
  const running = {node: "n1", phase: "Running"};
  assert.equal(healthIn({ready: true}, running).state, "well");
  assert.equal(healthIn({ready: false}, running).words, "node n1 is NotReady");
  assert.equal(healthIn(undefined, running).words, "node n1 does not exist");
});

test("a health follows its node, not an earlier one", () => {
  assert.equal(healthIn(nodeWith({operations: {"*": FAILED}})).state, "failing");
  assert.equal(healthIn(nodeWith({operations: {}})).state, "waiting");
  assert.equal(healthIn({ready: false}).state, "stuck");
});

test("a nominated pod leads with its victims and their grace", () => {
  const victim = ["pod/shop/low", {node: "n1", deleting: 12 * SECOND}];
  const pod = {nominated: "n1", queue: "unschedulable", blocker: {short: "cpu 1 short", attempt: 1}};
  const {state, words, detail} = podHealth(WEB, pod, modelOf({ready: true}, [victim, [WEB, pod]]));
  assert.deepEqual([state, words], ["waiting", "waits for low to end on n1"]);
  assert.equal(detail, "nominated to n1: waits for low to end on n1, 4.00 s of grace left");
  assert.equal(podHealth(WEB, pod, modelOf({ready: false}, [victim])).state, "stuck");
});

test("a terminating pod is stuck only if it is held", () => {
  const leaving = {node: "n1", deleting: 12 * SECOND};
  assert.equal(healthIn({ready: true}, leaving).state, "waiting");
  assert.equal(healthIn({ready: false}, leaving).state, "stuck");
  assert.equal(healthIn({ready: true}, {...leaving, finalizers: ["a.example/keep"]}).state, "stuck");
});

test("a blocker in a row names its attempt", () => {
  assert.equal(blockerWords({blocker: {short: "cpu 1 short", attempt: 3}}), "cpu 1 short (attempt 3)");
  assert.equal(blockerWords({}), "");
});

test("an unqueued pod says what its scheduler waits for", () => {
  const model = (...replicas) => ({
    entities: new Map(replicas.map((each, i) => [`scheduler/default-scheduler-${i}`, each])),
    at: 0,
  });
  const words = (...replicas) => podHealth(WEB, {}, model(...replicas)).detail;
  assert.equal(words({running: true}, {}), "default-scheduler waits for its Lease: none of its replicas leads");
  assert.equal(words({}, {}), "no replica of default-scheduler runs");
  assert.match(words(), /^default-scheduler has not queued it/);
});
