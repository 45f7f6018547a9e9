import assert from "node:assert/strict";
import {test} from "node:test";

import {connectHotkeys} from "../../../../static/js/controllers/session/hotkeys.js";

/** The shortcuts of a page, with what was done; a target answers `matches` and `closest` by its own selector. */
function page() {
  const listeners = {};
  const done = [];
  globalThis.addEventListener = (type, listener) => (listeners[type] = listener);
  globalThis.document = {querySelector: () => null};
  connectHotkeys({playhead: {togglePlay: () => done.push("play")}});
  const press = (element) => listeners.keydown({key: " ", target: target(element), preventDefault: () => {}});
  return {done, press, click: (event) => listeners.click(event)};
}

function target(element) {
  const among = (selector) => selector.split(", ").includes(element);
  return {matches: among, closest: (selector) => (among(selector) ? element : null)};
}

test("space plays from links rows slider and canvas", () => {
  const {done, press} = page();
  for (const element of ["a", "tr", "input[type=range]", "canvas", "body"]) press(element);
  assert.deepEqual(done, ["play", "play", "play", "play", "play"]);
});

test("space is left to what it operates", () => {
  const {done, press} = page();
  for (const element of ["button", "summary", "input", "select", "textarea", "[contenteditable]"]) press(element);
  assert.deepEqual(done, []);
});

test("a click leaves no focus in transport", () => {
  let blurred = 0;
  const {click} = page();
  const button = {blur: () => (blurred += 1)};
  const inTransport = {closest: () => button};
  click({detail: 0, target: inTransport});
  assert.equal(blurred, 0);
  click({detail: 1, target: inTransport});
  assert.equal(blurred, 1);
});
