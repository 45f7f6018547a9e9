/** The question to confirm before a change that deletes something or resumes a finished run. */
import {count, moment, parseId} from "../shared/format.js";
import {faultWords} from "./failures.js";

/** Commands whose effect cannot simply be undone, and what each does. */
const DESTRUCTIVE = {
  delete: "Deletes",
  delete_pods: "Deletes the pods on",
  evict: "Evicts",
  evict_pods: "Evicts the pods on",
  replace: "Deletes and recreates",
  stop_kubelet: "Stops the kubelet of",
  stop_scheduler: "Stops",
  fault: "Injects a fault",
};

const HARMLESS = {
  cordon: "Cordons",
  uncordon: "Uncordons",
  patch: "Changes",
  resize: "Resizes",
  apply: "Applies",
  create: "Creates",
  start_kubelet: "Starts the kubelet of",
  start_scheduler: "Starts",
};

/**
 * The question to confirm before these commands are sent to *run*, as {title, button, lines, drains}, or null if
 * none is needed. `drains` is the name of the node to drain; the page counts its pods.
 */
export function consentFor(run, bodies) {
  const isFinished = run.status === "finished";
  if (!isFinished && !bodies.some(({verb}) => verb in DESTRUCTIVE)) return null;
  const drains = drained(bodies);
  const lines = drains ? [] : bodies.map(commandLine);
  if (isFinished)
    lines.push(`The run is finished. This resumes it at ${moment(run.head_at ?? 0)} s, until nothing is left to do.`);
  return {
    title: drains ? `Drain ${drains}?` : titleOf(bodies),
    button: drains ? "Drain" : buttonOf(bodies),
    lines,
    drains,
  };
}

/** The node that these commands drain, or null. */
function drained(bodies) {
  const evicting = bodies.find(({verb}) => verb === "evict_pods");
  return evicting ? parseId(evicting.object).name : null;
}

function commandLine({verb, object, manifest, patch}) {
  if (verb === "fault") return `Injects a fault: ${faultWords(patch)}.`;
  const subject = object ? parseId(object).key : (manifest?.metadata?.name ?? "");
  return `${DESTRUCTIVE[verb] ?? HARMLESS[verb] ?? verb} ${subject}`.trim().concat(".");
}

function titleOf(bodies) {
  if (bodies.length > 1) return `Send these ${bodies.length} changes?`;
  return `${commandLine(bodies[0]).slice(0, -1)}?`.replace(/^(\w+?)s\b/, (_, verb) => verb);
}

const BUTTONS = {
  delete: "Delete",
  delete_pods: "Delete",
  evict: "Evict",
  replace: "Replace",
  cordon: "Cordon",
  uncordon: "Uncordon",
  patch: "Apply",
  resize: "Resize",
  apply: "Apply",
  fault: "Inject",
};

function buttonOf(bodies) {
  return bodies.length === 1 ? (BUTTONS[bodies[0].verb] ?? "Send") : "Send";
}

/** What draining a node does, from what the server counts: {evicted, daemon, budgets: [{name, pods, allowed}]}. */
export function drainLines(node, {evicted, daemon, budgets}) {
  const lines = [`Cordons ${node}, then evicts ${pods(evicted)}.`];
  if (daemon > 0) lines.push(`${pods(daemon)} of DaemonSets ${daemon === 1 ? "stays" : "stay"}.`);
  for (const {name, pods: covered, allowed} of budgets) {
    const refused = Math.max(0, covered - allowed);
    const outcome = refused === 0 ? "allows all of them" : `allows ${count(allowed)}: ${pods(refused)} may stay`;
    lines.push(`The disruption budget ${name} covers ${count(covered)} of them and ${outcome}.`);
  }
  return lines;
}

function pods(number) {
  return `${count(number)} ${number === 1 ? "pod" : "pods"}`;
}
