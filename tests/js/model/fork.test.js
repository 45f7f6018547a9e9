import assert from "node:assert/strict";
import {test} from "node:test";

import {addressInRun, forkWish} from "../../../static/js/model/fork.js";

test("a fork is asked for at the event one is looking at", () => {
  const form = {name: "what if", profile: "v1.34", seed: "7"};
  assert.deepEqual(forkWish("?pod=shop/web&seq=812", form), {seq: 812, ...form});
});

test("whoever follows the run forks at the newest event", () => {
  assert.equal(forkWish("?pod=shop/web", {}).seq, null);
});

test("a fork opens with the same page and what is picked on it", () => {
  const here = {pathname: "/runs/3/pods/shop/web-3/", search: "?seq=812&attempt=2&claim=shop%2Fdata"};
  assert.equal(addressInRun(here, 14), "/runs/14/pods/shop/web-3/?claim=shop/data");
  assert.equal(addressInRun({pathname: "/runs/3/", search: ""}, 14), "/runs/14/");
});
