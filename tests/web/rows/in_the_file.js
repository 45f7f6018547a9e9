/** Prints the windows of rows that a file makes for itself, a line for each {at, state, kind, wanted} that it reads. */
import {readFileSync} from "node:fs";

import {RunModel} from "../../../static/js/model/run/run_model.js";
import {windowOf} from "../../../static/js/offline/rows.js";

for (const line of readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  const {at, state, kind, wanted} = JSON.parse(line);
  const model = new RunModel();
  model.reset({seq: 1, at, state, events: []});
  process.stdout.write(`${JSON.stringify(windowOf(model, kind, wanted))}\n`);
}
