/** Reads what a file holds, then questions of the timeline, a line each; prints the answers of a file. */
import {readFileSync} from "node:fs";

import {Answers} from "../../static/js/offline/answers.js";
import {History} from "../../static/js/offline/history.js";

const [first, ...questions] = readFileSync(0, "utf8").split("\n").filter(Boolean);
const {lanes, head, paths, events} = JSON.parse(first);
const history = new History({
  chunks: [{first: 1, at: events[0].at, read: () => events}],
  keyframes: [{seq: 0, at: 0, read: () => ({})}],
  head: head.seq,
});
const answers = new Answers({
  run: {id: 0, head_at: head.at},
  history,
  histogram: null,
  attempts: [],
  evidenceOf: () => null,
  whys: {},
  lanesOf: () => lanes,
  pathsOf: () => paths,
});
for (const line of questions) {
  const {asked, seq} = JSON.parse(line);
  process.stdout.write(`${JSON.stringify(answers.get("timeline/", {...asked, seq}))}\n`);
}
