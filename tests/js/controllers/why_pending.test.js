import assert from "node:assert/strict";
import {test} from "node:test";

import {WhyPending} from "../../../static/js/controllers/why_pending.js";

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

test("an answer is held with the pod it is about", async () => {
  const api = new SlowApi();
  const why = new WhyPending(api);
  const asking = why.ask("pod/shop/web-3", 812);
  assert.deepEqual(why.held.value, {id: "pod/shop/web-3", status: "loading"});
  assert.deepEqual([api.asked[0].path, api.asked[0].params], ["pods/shop/web-3/why/", {seq: 812}]);
  api.asked[0].resolve({seq: 812});
  await asking;
  assert.deepEqual(why.held.value, {id: "pod/shop/web-3", status: "ready", diagnosis: {seq: 812}});
});

test("the newest question is the one that is answered", async () => {
  const api = new SlowApi();
  const why = new WhyPending(api);
  const first = why.ask("pod/a/one", null);
  const second = why.ask("pod/a/two", null);
  assert.equal(api.asked[0].signal.aborted, true);
  api.asked[1].resolve({seq: 2});
  api.asked[0].resolve({seq: 1});
  await Promise.all([first, second]);
  assert.equal(why.held.value.id, "pod/a/two");
});

test("a refusal is held in its words", async () => {
  const api = new SlowApi();
  const why = new WhyPending(api);
  const asking = why.ask("pod/a/gone", null);
  api.asked[0].reject(new Error("There is no pod a/gone."));
  await asking;
  assert.deepEqual(why.held.value, {id: "pod/a/gone", status: "failed", message: "There is no pod a/gone."});
});

test("what was asked is forgotten when the cluster changes", async () => {
  const api = new SlowApi();
  const why = new WhyPending(api);
  const asking = why.ask("pod/a/one", null);
  why.forget();
  api.asked[0].resolve({seq: 1});
  await asking;
  assert.equal(why.held.value, null);
});

test("the last answer stays until the next", async () => {
  const api = new SlowApi();
  const why = new WhyPending(api);
  const first = why.ask("pod/a/one", null);
  api.asked[0].resolve({seq: 1});
  await first;
  const second = why.ask("pod/a/one", null);
  assert.deepEqual(why.held.value, {id: "pod/a/one", status: "loading", diagnosis: {seq: 1}});
  api.asked[1].reject(new Error("busy"));
  await second;
  assert.deepEqual(why.held.value, {id: "pod/a/one", status: "failed", message: "busy", diagnosis: {seq: 1}});
  why.ask("pod/a/two", null);
  assert.equal(why.held.value.diagnosis, undefined);
});
