import assert from "node:assert/strict";
import {test} from "node:test";

import {factParts, quotasIn, valueWords} from "../../../../static/js/model/why/facts.js";
import {quotaRows, quotasOf, quotasShown} from "../../../../static/js/model/why/quotas.js";

test("a value is written as in its manifest", () => {
  assert.equal(valueWords("").text, '""');
  assert.equal(valueWords("fast").text, '"fast"');
  assert.equal(valueWords(3).text, "3");
  assert.equal(valueWords(null).text, "not set");
  assert.equal(valueWords(["a"]).text, '["a"]');
});

test("a long value is cut and kept whole", () => {
  const {text, whole} = valueWords({key: "x".repeat(200)});
  assert.equal(text.length, 97);
  assert.equal(JSON.parse(whole).key.length, 200);
});

test("a fact names its object and its comparison", () => {
  const fact = {object: "claim/shop/data", field: "spec.accessModes", value: ["RWO"], compared_with: 0, text: "…"};
  const {name, value, compared} = factParts(fact);
  assert.deepEqual([name, value.text, compared.text], ["claim shop/data", '["RWO"]', "0"]);
  assert.equal(factParts({...fact, compared_with: null}).compared, null);
});

test("the quotas of an answer are listed once", () => {
  const because = [{object: "resourcequota/shop/a"}, {object: "pod/shop/p"}, {object: "resourcequota/shop/a"}];
  assert.deepEqual(quotasIn({causes: [{because}, {because: []}]}), ["resourcequota/shop/a"]);
});

test("a quota lists used and hard amounts", () => {
  const quota = {hard: {pods: "10", cpu: "2"}, used: {cpu: "500m"}};
  assert.deepEqual(quotaRows(quota), [
    {resource: "cpu", used: "500m", hard: "2"},
    {resource: "pods", used: "0", hard: "10"},
  ]);
  assert.deepEqual(quotaRows({}), []);
});

test("a namespace shows its own quotas", () => {
  const ids = ["resourcequota/shop/b", "resourcequota/shop/a", "resourcequota/shop-2/c", "namespace/shop"];
  const entities = new Map(ids.map((id) => [id, {}]));
  assert.deepEqual(quotasOf("shop", entities), ["resourcequota/shop/a", "resourcequota/shop/b"]);
  assert.deepEqual(quotasShown("namespace/shop", entities), ["resourcequota/shop/a", "resourcequota/shop/b"]);
  assert.deepEqual(quotasShown("resourcequota/shop/b", entities), ["resourcequota/shop/b"]);
  assert.deepEqual(quotasShown("resourcequota/shop/gone", entities), []);
  assert.deepEqual(quotasShown("pod/shop/p", entities), []);
});
