import assert from "node:assert/strict";
import {test} from "node:test";

import {exportGroups} from "../../../../static/js/model/run/exports.js";

const FORMATS = [
  "kscope",
  "ndjson",
  "csv",
  "parquet",
  "perfetto",
  "otlp",
  "openmetrics",
  "mermaid",
  "yaml",
  "html",
  "events",
];
const url = (params) => new URLSearchParams(Object.entries(params).filter(([, value]) => value !== null)).toString();

const hrefs = (from) =>
  exportGroups({known: FORMATS, url, seq: null, pod: null, ...from})
    .flat()
    .map(({href}) => href);

test("what is exported ends at the event shown", () => {
  assert.ok(hrefs({seq: 12}).includes("format=yaml&seq=12"));
  assert.ok(hrefs({}).includes("format=yaml"));
  assert.ok(hrefs({seq: 12}).includes("format=html&seq=12"));
});

test("a run is exported as a whole", () => {
  assert.deepEqual(
    hrefs({seq: 12}).filter((href) => href.startsWith("format=kscope")),
    ["format=kscope", "format=kscope&history=1"],
  );
});

test("a diagram is offered of the pod that is selected", () => {
  assert.ok(hrefs({pod: "pod/shop/web-0"}).includes("format=mermaid&pod=shop%2Fweb-0"));
  assert.ok(!hrefs({}).some((href) => href.includes("mermaid")));
});

test("formats that are not installed are left out", () => {
  assert.ok(!hrefs({known: ["kscope", "ndjson"]}).some((href) => href.includes("parquet")));
  assert.equal(exportGroups({known: ["ndjson"], url, seq: null, pod: null}).length, 1);
});
