import assert from "node:assert/strict";
import {test} from "node:test";

import {Triage} from "../../../../static/js/controllers/triage/triage.js";

const group = {kind: "pending", pods: ["shop/web-1"], claims: [], nodes: [], namespaces: [], objects: []};
const causes = {
  is_whole: false,
  together: null,
  groups: [
    {...group, workloads: [], changes: [], conclusion: ""},
    {...group, pods: ["shop/db-0"], workloads: [], changes: [], conclusion: ""},
  ],
};

/** A triage whose answer has these parts, and fails after them where an error is given. */
function triageOf(parts, error = null) {
  const seen = [];
  const triage = new Triage({
    api: {
      async parts(path, params, signal, onPart) {
        for (const part of parts) {
          onPart(part);
          seen.push(triage.held.value.status);
        }
        if (error) throw new Error(error);
      },
    },
  });
  return {triage, seen};
}

test("causes are shown while changes are tried", async () => {
  const {triage, seen} = triageOf([causes, {group: 0, changes: [], conclusion: "None helps."}, {together: null}]);
  await triage.ask();
  assert.deepEqual(seen, ["trying", "trying", "ready"]);
  assert.equal(triage.held.value.triage.groups[0].conclusion, "None helps.");
  assert.equal(triage.number.value, 2);
});

test("an answer that is kept is ready at once", async () => {
  const {triage, seen} = triageOf([{...causes, is_whole: true}]);
  await triage.ask();
  assert.deepEqual(seen, ["ready"]);
});

test("causes stand when the trials fail", async () => {
  const {triage} = triageOf([causes], "The server is busy.");
  await triage.ask();
  const {status, message, triage: answer} = triage.held.value;
  assert.deepEqual([status, message, answer.groups.length], ["failed", "The server is busy.", 2]);
});

test("an answer that ends early has failed", async () => {
  const {triage} = triageOf([causes]);
  await triage.ask();
  assert.equal(triage.held.value.status, "failed");
});

test("keys go from cause to cause and stop at the ends", async () => {
  const {triage} = triageOf([causes, {together: null}]);
  await triage.ask();
  const places = [1, 1, 1, -1, -1].map((by) => {
    triage.step(by);
    return triage.at.value;
  });
  assert.deepEqual(places, [0, 1, 1, 0, 0]);
});

test("a search chooses the cause and opens its line", async () => {
  const {triage} = triageOf([causes, {together: null}]);
  await triage.ask();
  triage.find("db-0");
  assert.deepEqual([triage.at.value, triage.opened.value, triage.found.value], [1, [1], ""]);
  triage.find("nobody");
  assert.equal(triage.found.value, "No cause holds “nobody”.");
});
