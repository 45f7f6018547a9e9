/** The states of lists as pages have them: reads lines of {at, state}, writes for each {id: state}. */
import {createInterface} from "node:readline";

import {podHealth} from "../../../static/js/model/health/pod.js";
import {nodeAnswer} from "../../../static/js/model/nodes/node_answer.js";
import {RunModel} from "../../../static/js/model/run/run_model.js";
import {allChains} from "../../js/model/volumes/all_chains.js";

for await (const line of createInterface({input: process.stdin})) {
  const {at, state} = JSON.parse(line);
  const model = new RunModel();
  model.reset({seq: 1, at, state, events: []});
  process.stdout.write(`${JSON.stringify(statesOf(model))}\n`);
}

function statesOf(model) {
  const pods = [];
  for (const [id, pod] of model.entities) if (id.startsWith("pod/")) pods.push([id, podHealth(id, pod, model).place]);
  const nodes = [...model.nodes.byName].map(([name, node]) => {
    const {family} = nodeAnswer(name, node, model.nodes.pods.get(name) ?? new Map(), model.at);
    return [`node/${name}`, family];
  });
  const chains = allChains(model).map(({key, kind}) => [key, kind]);
  return Object.fromEntries([...pods, ...nodes, ...chains]);
}
