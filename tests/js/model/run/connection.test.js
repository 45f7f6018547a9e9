import assert from "node:assert/strict";
import {test} from "node:test";

import {connectionLook} from "../../../../static/js/model/run/connection.js";

const words = (...args) => connectionLook(...args).words;

test("a run that a worker drives, or that rests, is live", () => {
  for (const worker of ["driving", "", undefined]) assert.equal(words("open", {worker}, false), "Live");
});

test("a run without a worker is not live", () => {
  const look = connectionLook("open", {worker: "waiting"}, false);
  assert.deepEqual(look, {state: "stalled", words: "Waiting for a worker"});
});

test("a run that is built says how far that is", () => {
  const building = {objects: 40_000, of: 155_000};
  assert.equal(words("open", {worker: "building", building: null}, false), "Building the first state…");
  assert.match(words("open", {worker: "building", building}, false), /: 40.000 of 155.000 objects$/);
});

test("a page of the past needs no worker", () => {
  assert.equal(words("open", {worker: "waiting"}, true), "Connected");
});

test("a broken connection comes first", () => {
  assert.equal(words("waiting", {worker: "waiting"}, false), "Reconnecting…");
  assert.equal(words("stalled", {worker: "driving"}, true), "The server cannot read the run");
});

test("a file is recorded, whatever else is said", () => {
  for (const past of [false, true]) {
    assert.deepEqual(connectionLook("waiting", {is_recorded: true}, past), {state: "open", words: "Recorded"});
  }
});
