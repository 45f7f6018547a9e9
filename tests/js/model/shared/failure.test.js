import assert from "node:assert/strict";
import {test} from "node:test";

import {failureOf} from "../../../../static/js/model/shared/failure.js";

test("a network failure is described", () => {
  const {message} = failureOf({isRepeatable: true});
  assert.match(message, /could not be reached/);
  assert.doesNotMatch(message, /Failed to fetch/);
});

test("a possibly processed request offers no retry", () => {
  const failure = failureOf({});
  assert.equal(failure.again, false);
  assert.match(failure.message, /may have been processed/);
  assert.equal(failureOf({isRepeatable: true}).again, true);
});

test("too many requests say how long to wait", () => {
  const {message, again} = failureOf({status: 429, message: "Too many commands", retryAfter: "7"});
  assert.equal(message, "Too many commands. Try again in 7 seconds.");
  assert.equal(again, true);
});

test("a retry date is not taken for seconds", () => {
  const {message} = failureOf({status: 503, retryAfter: "Wed, 21 Oct 2026 07:28:00 GMT"});
  assert.equal(message, "kscope is starting or overloaded (503). Try again in a moment.");
});

test("a gateway error may have been processed", () => {
  assert.equal(failureOf({status: 502}).again, false);
  assert.equal(failureOf({status: 502, isRepeatable: true}).again, true);
});

test("an outdated page asks to be reloaded", () => {
  assert.match(failureOf({status: 403, message: "CSRF Failed: CSRF token missing."}).message, /Reload it/);
  assert.equal(failureOf({status: 403, message: "Only its owner may do this"}).message, "Only its owner may do this.");
});

test("a rejection keeps the server's message", () => {
  assert.deepEqual(failureOf({status: 409, message: "Conflict: changed since", isRepeatable: true}), {
    status: 409,
    again: false,
    message: "Conflict: changed since",
  });
});

test("an error without a message is described", () => {
  assert.match(failureOf({status: 500, isRepeatable: true}).message, /server failed \(500\)/);
});
