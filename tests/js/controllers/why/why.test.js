import assert from "node:assert/strict";
import {test} from "node:test";

import {Why} from "../../../../static/js/controllers/why/why.js";

/** The last part of an answer. */
const LAST = {conclusion: ""};

/** A server that answers when it is told to. */
class SlowApi {
  constructor() {
    this.asked = [];
  }

  parts(path, params, signal, onPart, how) {
    return new Promise((resolve, reject) => {
      const whole = (part) => {
        onPart(part);
        onPart(LAST);
        resolve();
      };
      this.asked.push({path, params, signal, onPart, how, end: resolve, resolve: whole, reject});
    });
  }
}

test("an answer is kept with its object", async () => {
  const api = new SlowApi();
  const why = new Why(api);
  const asking = why.ask("pod/shop/web-3", 812);
  assert.deepEqual(why.held.value, {id: "pod/shop/web-3", seq: 812, status: "loading"});
  assert.deepEqual([api.asked[0].path, api.asked[0].params], ["why/pod/shop/web-3/", {seq: 812, parts: 1}]);
  api.asked[0].resolve({seq: 812});
  await asking;
  assert.deepEqual(why.held.value, {id: "pod/shop/web-3", seq: 812, status: "ready", diagnosis: {seq: 812, ...LAST}});
});

test("an answer is waited for while it is worked out", () => {
  const api = new SlowApi();
  void new Why(api).ask("pod/shop/web-3", null);
  // The server gives up after a minute of computing, which may take several by the clock.
  assert.ok(api.asked[0].how.longestMs >= 10 * 60_000);
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
  assert.deepEqual(why.held.value, {id: "pod/a/one", seq: null, status: "loading", diagnosis: {seq: 1, ...LAST}});
  api.asked[1].reject(new Error("busy"));
  await second;
  assert.deepEqual(why.held.value, {
    id: "pod/a/one",
    seq: null,
    status: "failed",
    message: "busy",
    diagnosis: {seq: 1, ...LAST},
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

test("causes are shown before the fixes", async () => {
  const api = new SlowApi();
  const why = new Why(api);
  const asking = why.ask("pod/a/one", null);
  const [{onPart, end}] = api.asked;
  onPart({seq: 7, fixes: []});
  assert.deepEqual(why.held.value, {id: "pod/a/one", seq: null, status: "trying", diagnosis: {seq: 7, fixes: []}});
  onPart({fix: {text: "Add a node"}});
  assert.deepEqual(why.held.value.diagnosis.fixes, [{text: "Add a node"}]);
  assert.equal(why.held.value.status, "trying");
  onPart({conclusion: "Nothing else."});
  end();
  await asking;
  const diagnosis = {seq: 7, fixes: [{text: "Add a node"}], conclusion: "Nothing else."};
  assert.deepEqual(why.held.value, {id: "pod/a/one", seq: null, status: "ready", diagnosis});
});

test("a failure after the causes keeps them", async () => {
  const api = new SlowApi();
  const why = new Why(api);
  const asking = why.ask("pod/a/one", null);
  api.asked[0].onPart({seq: 7, fixes: []});
  api.asked[0].reject(new Error("out of memory"));
  await asking;
  const diagnosis = {seq: 7, fixes: []};
  assert.deepEqual(why.held.value, {diagnosis, id: "pod/a/one", seq: null, status: "failed", message: "out of memory"});
});

test("an answer that breaks off is a failure", async () => {
  const api = new SlowApi();
  const why = new Why(api);
  const asking = why.ask("pod/a/one", null);
  api.asked[0].onPart({seq: 7, fixes: []});
  api.asked[0].end();
  await asking;
  assert.equal(why.held.value.status, "failed");
  assert.match(why.held.value.message, /before the answer was complete/);
});

test("parts after another question are dropped", async () => {
  const api = new SlowApi();
  const why = new Why(api);
  const asking = why.ask("pod/a/one", null);
  api.asked[0].onPart({seq: 7, fixes: []});
  why.forget();
  assert.equal(api.asked[0].signal.aborted, true);
  api.asked[0].onPart({fix: {text: "Add a node"}});
  api.asked[0].end();
  await asking;
  assert.equal(why.held.value, null);
});

test("a repeated question shows no half answer", async () => {
  const api = new SlowApi();
  const why = new Why(api);
  const first = why.ask("pod/a/one", null);
  api.asked[0].resolve({seq: 1, fixes: [{text: "Add a node"}]});
  await first;
  why.ask("pod/a/one", null);
  api.asked[1].onPart({seq: 2, fixes: []});
  assert.equal(why.held.value.status, "loading");
  assert.deepEqual(why.held.value.diagnosis.fixes, [{text: "Add a node"}]);
});
