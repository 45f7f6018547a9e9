import assert from "node:assert/strict";
import {test} from "node:test";

import {signal} from "@preact/signals";

import {Candidates} from "../../../../static/js/controllers/volumes/candidates.js";

const rest = () =>
  new Promise((resolve) => {
    setTimeout(resolve, 180);
  });

/** A board and a chosen claim that can be changed, and the questions that were asked. */
function setUp({isOpen = true} = {}) {
  const asked = [];
  const model = {seq: 9, entities: new Map(), claims: {version: 1}};
  const tick = signal(0);
  const session = {
    get model() {
      void tick.value;
      return model;
    },
    api: {
      get: async (path, params) => {
        asked.push([path, params.seq]);
        return {path, seq: params.seq};
      },
    },
  };
  const binding = {
    claim: {},
    claimKey: "shop/data",
    claimId: "claim/shop/data",
    users: [],
    events: [],
    state: "pending",
  };
  const chosen = {
    isOpen: signal(isOpen),
    binding: () => {
      void tick.value;
      return binding;
    },
  };
  const change = (work) => {
    work({binding, model});
    tick.value += 1;
  };
  const candidates = new Candidates(session, chosen);
  candidates.start();
  return {candidates, chosen, asked, change};
}

test("an unchanged claim is asked about once", async () => {
  const {candidates, asked, change} = setUp();
  assert.equal(candidates.held.value.status, "loading");
  await rest();
  change(({model}) => {
    model.seq = 10;
  });
  await rest();
  assert.deepEqual(asked, [["claims/shop/data/candidates/", 9]]);
  assert.equal(candidates.held.value.status, "ready");
});

test("a changed volume repeats the question", async () => {
  const {candidates, asked, change} = setUp();
  await rest();
  change(({model}) => {
    model.claims.version = 2;
    model.seq = 11;
  });
  await rest();
  change(({binding}) => {
    Object.assign(binding, {claimKey: "shop/other", claimId: "claim/shop/other"});
  });
  assert.deepEqual(candidates.held.value, {of: "claim/shop/other", status: "loading"});
  await rest();
  assert.deepEqual(
    asked.map(([path, seq]) => [path.split("/")[2], seq]),
    [
      ["data", 9],
      ["data", 11],
      ["other", 11],
    ],
  );
});

test("nothing is asked before the events say where a volume was chosen", async () => {
  const {candidates, chosen, asked, change} = setUp({isOpen: false});
  await rest();
  assert.deepEqual([candidates.held.value, asked], [{of: "claim/shop/data", status: "loading"}, []]);
  change(({binding}) => {
    const events = [{seq: 7, kind: "ClaimNodeSelected", object: "claim/shop/data", message: ""}];
    Object.assign(binding, {state: "bound", events});
  });
  chosen.isOpen.value = true;
  await rest();
  assert.deepEqual(asked, [["claims/shop/data/candidates/", 6]]);
});

test("an answer of a later event is taken away", async () => {
  const {candidates, change} = setUp();
  await rest();
  change(({model}) => {
    model.claims = {version: 2};
    model.seq = 11;
  });
  assert.equal(candidates.held.value.answer.seq, 9);
  await rest();
  change(({model}) => {
    model.claims = {version: 3};
    model.seq = 4;
  });
  assert.deepEqual(candidates.held.value, {of: "claim/shop/data", status: "loading"});
});

test("without a claim or volume nothing is asked", async () => {
  const {candidates, asked, change} = setUp();
  change(({binding}) => {
    binding.claim = undefined;
  });
  await rest();
  assert.deepEqual([candidates.held.value, asked], [null, []]);
});
