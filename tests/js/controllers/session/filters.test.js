import assert from "node:assert/strict";
import {test} from "node:test";

import {Filters} from "../../../../static/js/controllers/session/filters.js";

function address(search) {
  return {
    written: [],
    query: (name) => new URLSearchParams(search).get(name) ?? "",
    write(changes) {
      this.written.push(changes);
    },
  };
}

test("the filters of a list are those of the address", () => {
  const filters = new Filters(address("?name=web&seq=4"), ["name", "state"]);
  assert.deepEqual(filters.values.value, {name: "web", state: ""});
});

test("a changed filter is written to the address", () => {
  const own = address("?name=web");
  const filters = new Filters(own, ["name", "state"]);
  filters.set({state: "bound"});
  assert.deepEqual(filters.values.value, {name: "web", state: "bound"});
  assert.deepEqual(own.written, [{state: "bound"}]);
});
