import assert from "node:assert/strict";
import {afterEach, test} from "node:test";

import {RunApi} from "../../../static/js/lib/api.js";

const realFetch = globalThis.fetch;

afterEach(() => {
  globalThis.fetch = realFetch;
});

/** A server that sends these pieces of text; returns the addresses that were fetched. */
function serve(pieces, options = {}) {
  const fetched = [];
  globalThis.fetch = async (url) => {
    fetched.push(url);
    const encoder = new TextEncoder();
    const body = new ReadableStream({
      start(controller) {
        for (const piece of pieces) controller.enqueue(typeof piece === "string" ? encoder.encode(piece) : piece);
        controller.close();
      },
    });
    return new Response(body, options);
  };
  return fetched;
}

async function partsOf(pieces, options) {
  const parts = [];
  const fetched = serve(pieces, options);
  await new RunApi(3).parts("why/pod/a/b/", {seq: null, parts: 1}, undefined, (part) => parts.push(part));
  return {parts, fetched};
}

test("each line is a part", async () => {
  const {parts, fetched} = await partsOf(['{"seq":1}\n', '{"fix":{}}\n{"tried":{}}\n']);
  assert.deepEqual(parts, [{seq: 1}, {fix: {}}, {tried: {}}]);
  assert.deepEqual(fetched, ["/api/v1/runs/3/why/pod/a/b/?parts=1"]);
});

test("a line may arrive in pieces", async () => {
  const bytes = new TextEncoder().encode('{"text":"n1–n4"}\n');
  const {parts} = await partsOf(['{"se', 'q":1}\n', bytes.slice(0, 12), bytes.slice(12)]);
  assert.deepEqual(parts, [{seq: 1}, {text: "n1–n4"}]);
});

test("a problem after the first line is a failure", async () => {
  const parts = [];
  serve(['{"seq":1}\n{"problem":{"status":503,"detail":"The engine ran out of memory."}}\n']);
  const asking = new RunApi(3).parts("why/pod/a/b/", {}, undefined, (part) => parts.push(part));
  await assert.rejects(asking, {name: "ApiError", message: "The engine ran out of memory."});
  assert.deepEqual(parts, [{seq: 1}]);
});

test("a refusal keeps its status and message", async () => {
  serve(['{"status":404,"detail":"There is no pod a/b."}'], {status: 404});
  const asking = new RunApi(3).parts("why/pod/a/b/", {}, undefined, () => {});
  await assert.rejects(asking, {name: "ApiError", status: 404, message: "There is no pod a/b."});
});
