import assert from "node:assert/strict";
import {test} from "node:test";

import {signal} from "@preact/signals";

import {Followed} from "../../../../static/js/controllers/machines/followed.js";
import {RunModel} from "../../../../static/js/model/run/run_model.js";

const STATE = {
  "pod/shop/web-0": {queue: "unschedulable", claims: ["data-0"]},
  "pod/shop/web-1": {queue: "active"},
  "claim/shop/data-0": {phase: "Pending"},
  "claim/shop/data-1": {phase: "Bound", volume: "pv-1"},
  "volume/pv-0": {phase: "Available", claim: "shop/data-0"},
  "volume/pv-1": {phase: "Bound", claim: "shop/data-1"},
};

/** Board and address as a page has them; events of an object are numbered by hand. */
function page(query = {}) {
  const model = new RunModel();
  model.reset({seq: 9, at: 9, state: STATE, events: []});
  const tick = signal(0);
  const written = [];
  const asked = [];
  const selection = {
    pod: signal("pod/shop/web-0"),
    claim: signal(query.claim ?? null),
    volume: signal(query.volume ?? null),
  };
  const session = {
    selection,
    get model() {
      void tick.value;
      return model;
    },
    selected() {
      void tick.value;
      return selection.pod.value;
    },
    select(ids) {
      written.push(ids);
      for (const [kind, id] of Object.entries(ids)) selection[kind].value = id;
    },
    api: {
      get: async (path, {object, after}) => {
        asked.push([object, after]);
        const seq = (after ?? 0) + 1;
        return {items: [{seq, at: seq, kind: "Told", message: "", changes: {}}], continue: null};
      },
    },
  };
  const change = (id, patch) => {
    model.apply({first: model.seq + 1, last: model.seq + 1, at: 10, changes: {[id]: patch}, events: []});
    tick.value += 1;
  };
  return {session, followed: new Followed(session), written, asked, change};
}

const ids = ({objects: {pod, claim, volume}}) => [pod, claim, volume].map(({id}) => id.value);
const settled = () =>
  new Promise((resolve) => {
    setTimeout(resolve, 180);
  });

test("the pod determines the claim and the volume", () => {
  assert.deepEqual(ids(page().followed), ["pod/shop/web-0", "claim/shop/data-0", "volume/pv-0"]);
});

test("a pod without claims shows an unfinished claim", () => {
  const {session, followed} = page();
  session.selection.pod.value = "pod/shop/web-1";
  assert.deepEqual(ids(followed), ["pod/shop/web-1", "claim/shop/data-0", "volume/pv-0"]);
});

test("the address names the picked objects", () => {
  assert.deepEqual(ids(page({claim: "claim/shop/data-1"}).followed), [
    "pod/shop/web-0",
    "claim/shop/data-1",
    "volume/pv-1",
  ]);
});

test("picking an object clears the objects picked before", () => {
  const {followed, written} = page();
  followed.pick("volume/pv-1");
  assert.deepEqual(ids(followed), ["pod/shop/web-0", "claim/shop/data-0", "volume/pv-1"]);
  followed.pick("claim/shop/data-1");
  assert.deepEqual(ids(followed), ["pod/shop/web-0", "claim/shop/data-1", "volume/pv-1"]);
  followed.pick("pod/shop/web-0");
  assert.deepEqual(ids(followed), ["pod/shop/web-0", "claim/shop/data-0", "volume/pv-0"]);
  assert.deepEqual(written, [
    {volume: "volume/pv-1"},
    {volume: null, claim: "claim/shop/data-1"},
    {volume: null, claim: null, pod: "pod/shop/web-0"},
  ]);
});

test("a changed object loads only its new events", async () => {
  const {followed, asked, change} = page();
  followed.start();
  await settled();
  assert.deepEqual(
    followed.objects.pod.events.value.map(({seq}) => seq),
    [1],
  );
  change("claim/shop/data-1", {phase: "Lost"});
  change("pod/shop/web-0", {queue: "backoff"});
  await settled();
  assert.deepEqual(
    followed.objects.pod.events.value.map(({seq}) => seq),
    [1, 2],
  );
  assert.deepEqual(
    asked.filter(([object]) => object === "pod/shop/web-0"),
    [
      ["pod/shop/web-0", undefined],
      ["pod/shop/web-0", 1],
    ],
  );
  assert.equal(asked.filter(([object]) => object === "claim/shop/data-0").length, 1);
});

test("answers for an earlier object are dropped", async () => {
  const {session, followed} = page();
  followed.start();
  await settled();
  session.selection.pod.value = "pod/shop/web-1";
  assert.deepEqual(followed.objects.pod.events.value, []);
  await settled();
  assert.deepEqual(
    followed.objects.pod.events.value.map(({seq}) => seq),
    [1],
  );
});

test("the pod determines the volume on its node", () => {
  const {followed, change} = page();
  const {attachment} = followed.objects;
  assert.equal(attachment.id.value, null);
  change("node/n1", {attachments: {"csi^1": {name: "pv-9"}, "csi^2": {name: "pv-0"}}});
  change("pod/shop/web-0", {node: "n1"});
  assert.equal(attachment.id.value, "node/n1#csi^2");
  followed.pick("node/n1#csi^1");
  assert.equal(attachment.id.value, "node/n1#csi^1");
  followed.pick("pod/shop/web-0");
  assert.equal(attachment.id.value, "node/n1#csi^2");
});
