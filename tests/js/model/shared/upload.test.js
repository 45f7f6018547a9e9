import assert from "node:assert/strict";
import test from "node:test";

import {doingWords, sentWords, whyTooMuch} from "../../../../static/js/model/shared/upload.js";

const MEBIBYTE = 1024 * 1024;

test("too much is not even sent", () => {
  const words = "The files have 65.0 MiB; an upload may hold 64 MiB in all.";
  assert.equal(whyTooMuch([60 * MEBIBYTE, 5 * MEBIBYTE], 64 * MEBIBYTE), words);
  assert.equal(whyTooMuch([60 * MEBIBYTE, 4 * MEBIBYTE], 64 * MEBIBYTE), "");
});

test("a form without a limit sends everything", () => {
  assert.equal(whyTooMuch([60 * MEBIBYTE], NaN), "");
});

test("sending ends with waiting for the server", () => {
  assert.equal(sentWords(MEBIBYTE, 2 * MEBIBYTE), "Sending: 1.0 of 2.0 MiB…");
  assert.equal(sentWords(2 * MEBIBYTE, 2 * MEBIBYTE), "Waiting for the server…");
});

test("one of several files is told by its number", () => {
  const reading = {doing: "reading", file: "pods.yaml", number: 2, of: 3};
  assert.equal(doingWords(reading), "Reading pods.yaml (2 of 3)…");
  assert.equal(doingWords({...reading, of: 1}), "Reading pods.yaml…");
});

test("a large file is told by how much is read", () => {
  const reading = {doing: "reading", file: "all.json", number: 1, of: 1, read: 8 * MEBIBYTE};
  assert.equal(doingWords({...reading, size: 1024 * MEBIBYTE}), "Reading all.json: 8.0 of 1024.0 MiB…");
  assert.equal(doingWords({...reading, size: 0}), "Reading all.json: 8.0 MiB…");
});
