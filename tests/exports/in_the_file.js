/** Reads {lanes, ats, head}, then questions of the timeline, a line each; prints the answers of a file. */
import {readFileSync} from "node:fs";

import {Lanes} from "../../static/js/offline/lanes.js";

const [first, ...questions] = readFileSync(0, "utf8").split("\n").filter(Boolean);
const {lanes: recorded, ats, head} = JSON.parse(first);
const lanes = new Lanes(recorded, ats);
for (const line of questions) {
  const {asked, seq, at} = JSON.parse(line);
  process.stdout.write(`${JSON.stringify(lanes.timeline(asked, {seq, at, head}))}\n`);
}
