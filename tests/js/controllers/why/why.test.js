import assert from "node:assert/strict";
import {test} from "node:test";

import {Why} from "../../../../static/js/controllers/why/why.js";

/** A server that answers when it is told to. */
class SlowApi {
  constructor() {
    this.asked = [];
  }

  get(path, params, signal) {
    return new Promise((resolve, reject) => {
      this.asked.push({path, params, signal, resolve, reject});
    });
  }
}

test("an answer is kept with its object", async () => {
  const api = new SlowApi();
  const why = new Why(api);
  const asking = why.ask("pod/shop/web-3", 812);
  assert.deepEqual(why.held.value, {id: "pod/shop/web-3", seq: 812, status: "loading"});
  assert.deepEqual([api.asked[0].path, api.asked[0].params], ["why/pod/shop/web-3/", {seq: 812}]);
  api.asked[0].resolve({seq: 812});
  await asking;
  assert.deepEqual(why.held.value, {id: "pod/shop/web-3", seq: 812, status: "ready", diagnosis: {seq: 812}});
});

test("only the newest question is answered", async () => {
  const api = new SlowApi();
  const why = new Why(api);
  const first = why.ask("pod/a/one", null);
  const second = why.ask("pod/a/two", null);
  assert.equal(api.asked[0].signal.aborted, true);
  api.asked[1].resolve({seq: 2});
  api.asked[0].resolve({seq: 1});
  await Promise.all([first, second]);
  assert.equal(why.held.value.id, "pod/a/two");
});

test("a rejection keeps its message", async () => {
  const api = new SlowApi();
  const why = new Why(api);
  const asking = why.ask("pod/a/gone", null);
  api.asked[0].reject(new Error("There is no pod a/gone."));
  await asking;
  assert.deepEqual(why.held.value, {id: "pod/a/gone", seq: null, status: "failed", message: "There is no pod a/gone."});
});

test("a changed cluster drops the answer", async () => {
  const api = new SlowApi();
  const why = new Why(api);
  const asking = why.ask("pod/a/one", null);
  why.forget();
  api.asked[0].resolve({seq: 1});
  await asking;
  assert.equal(why.held.value, null);
});

test("the previous answer stays until a newer one", async () => {
  const api = new SlowApi();
  const why = new Why(api);
  const first = why.ask("pod/a/one", null);
  api.asked[0].resolve({seq: 1});
  await first;
  const second = why.ask("pod/a/one", null);
  assert.deepEqual(why.held.value, {id: "pod/a/one", seq: null, status: "loading", diagnosis: {seq: 1}});
  api.asked[1].reject(new Error("busy"));
  await second;
  assert.deepEqual(why.held.value, {
    id: "pod/a/one",
    seq: null,
    status: "failed",
    message: "busy",
    diagnosis: {seq: 1},
  });
  why.ask("pod/a/two", null);
  assert.equal(why.held.value.diagnosis, undefined);
});

test("in the past no older answer is shown", async () => {
  const api = new SlowApi();
  const why = new Why(api);
  const first = why.ask("claim/a/data", 40);
  api.asked[0].resolve({seq: 40});
  await first;
  why.ask("claim/a/data", 39);
  assert.deepEqual(why.held.value, {id: "claim/a/data", seq: 39, status: "loading"});
});
