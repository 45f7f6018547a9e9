import assert from "node:assert/strict";
import {test} from "node:test";

import {signal} from "@preact/signals";

import {Inside} from "../../../../static/js/controllers/inside/inside.js";

const rest = () =>
  new Promise((resolve) => {
    setTimeout(resolve, 200);
  });

/** A session at event 9, and what it was asked. */
function setUp() {
  const asked = [];
  const written = [];
  const place = signal({seq: 9, past: false});
  const selection = {claim: signal("claim/shop/data"), pod: signal(null), volume: signal(null)};
  const session = {
    selection,
    tick: signal(0),
    live: {head: {seq: 9, at: 0}},
    model: {entities: new Map(), claims: {first: () => [], claimOf: () => null}},
    get place() {
      return place.value;
    },
    address: {query: () => "", write: (changes) => written.push(changes)},
    playhead: {
      show: (seq) => {
        place.value = {seq, past: true};
      },
    },
    select: (ids) => {
      for (const [kind, id] of Object.entries(ids)) selection[kind].value = id;
    },
    api: {
      get: async (path, params) => {
        asked.push([path, params]);
        return {steps: [3, 5, 8].map((seq) => ({id: `${seq}.1`, seq, entity: "claim/shop/data"}))};
      },
    },
  };
  const inside = new Inside(session);
  inside.start();
  return {inside, asked, written, session};
}

test("the steps up to the newest event are asked", async () => {
  const {inside, asked} = setUp();
  assert.equal(inside.held.value.status, "loading");
  await rest();
  assert.deepEqual(asked, [["inside/volumes/", {claim: "shop/data", seq: 9}]]);
  assert.equal(inside.place.value, 2);
});

test("another step moves the play head", async () => {
  const {inside, written, session} = setUp();
  await rest();
  inside.move(-1);
  assert.deepEqual([inside.place.value, session.place.seq], [1, 5]);
  assert.deepEqual(written.at(-1), {step: "5.1"});
  inside.move(-5);
  assert.equal(inside.place.value, 0);
});

test("a pod in the claim's place is asked about", async () => {
  const {inside, asked} = setUp();
  await rest();
  inside.turnTo("pod/shop/web");
  assert.equal(inside.about.value, "pod/shop/web");
  assert.deepEqual([inside.held.value.status, inside.steps.value], ["loading", []]);
  assert.equal(asked.length, 1);
});
