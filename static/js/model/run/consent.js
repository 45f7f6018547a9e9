/** The question to confirm before a change that deletes something or resumes a finished run. */
import {gettext, ngettext} from "../../lib/words.js";
import {count, parseId, timeText} from "../shared/format.js";
import {faultWords} from "./failures.js";

/** Commands whose effect cannot simply be undone, and what each does. */
const DESTRUCTIVE = {
  delete: "Deletes",
  delete_pods: gettext("Deletes the pods on"),
  evict: "Evicts",
  evict_pods: gettext("Evicts the pods on"),
  replace: gettext("Deletes and recreates"),
  stop_kubelet: gettext("Stops the kubelet of"),
  stop_scheduler: "Stops",
  fault: gettext("Injects a fault"),
};

const HARMLESS = {
  cordon: "Cordons",
  uncordon: "Uncordons",
  patch: "Changes",
  resize: "Resizes",
  apply: "Applies",
  create: "Creates",
  start_kubelet: gettext("Starts the kubelet of"),
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
    lines.push(
      gettext("The run is finished. This resumes it at {head_at}, until nothing is left to do.", {
        head_at: timeText(run.head_at ?? 0),
      }),
    );
  return {
    title: drains ? gettext("Drain {drains}?", {drains}) : titleOf(bodies),
    button: drains ? gettext("Drain") : buttonOf(bodies),
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
  if (verb === "fault") return gettext("Injects a fault: {fault}.", {fault: faultWords(patch)});
  const subject = object ? parseId(object).key : (manifest?.metadata?.name ?? "");
  return `${DESTRUCTIVE[verb] ?? HARMLESS[verb] ?? verb} ${subject}`.trim().concat(".");
}

function titleOf(bodies) {
  if (bodies.length > 1) return gettext("Send these {count} changes?", {count: bodies.length});
  return `${commandLine(bodies[0]).slice(0, -1)}?`.replace(/^(\w+?)s\b/, (_, verb) => verb);
}

const BUTTONS = {
  delete: gettext("Delete"),
  delete_pods: gettext("Delete"),
  evict: gettext("Evict"),
  replace: gettext("Replace"),
  cordon: gettext("Cordon"),
  uncordon: gettext("Uncordon"),
  patch: gettext("Apply"),
  resize: gettext("Resize"),
  apply: gettext("Apply"),
  fault: gettext("Inject"),
};

function buttonOf(bodies) {
  return bodies.length === 1 ? (BUTTONS[bodies[0].verb] ?? "Send") : "Send";
}

/** What draining a node does, from what the server counts: {evicted, daemon, budgets: [{name, pods, allowed}]}. */
export function drainLines(node, {evicted, daemon, budgets}) {
  const lines = [gettext("Cordons {node}, then evicts {pods}.", {node, pods: pods(evicted)})];
  if (daemon > 0)
    lines.push(ngettext("{pods} of DaemonSets stays.", "{pods} of DaemonSets stay.", daemon, {pods: pods(daemon)}));
  for (const {name, pods: covered, allowed} of budgets) {
    const refused = Math.max(0, covered - allowed);
    const outcome =
      refused === 0
        ? gettext("allows all of them")
        : gettext("allows {allowed}: {pods} may stay", {allowed: count(allowed), pods: pods(refused)});
    lines.push(
      gettext("The disruption budget {name} covers {covered} of them and {outcome}.", {
        name,
        covered: count(covered),
        outcome,
      }),
    );
  }
  return lines;
}

function pods(number) {
  return `${count(number)} ${number === 1 ? "pod" : "pods"}`;
}
