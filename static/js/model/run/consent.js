/** The question to confirm before a change that deletes something or resumes a finished run. */
import {gettext, gettextNoop, gettextOf, ngettext} from "../../lib/words.js";
import {count, parseId, timeText} from "../shared/format.js";
import {faultText} from "./failures.js";

/** Commands whose effect cannot simply be undone. */
const DESTRUCTIVE = new Set([
  ...["delete", "delete_pods", "evict", "evict_pods", "replace", "stop_kubelet", "stop_scheduler", "fault"],
]);

/** What each command does, and the question whether it may. @type {Record<string, [string, string]>} */
const SAID = {
  delete: [gettextNoop("Deletes {object}."), gettextNoop("Delete {object}?")],
  delete_pods: [gettextNoop("Deletes the pods on {object}."), gettextNoop("Delete the pods on {object}?")],
  evict: [gettextNoop("Evicts {object}."), gettextNoop("Evict {object}?")],
  evict_pods: [gettextNoop("Evicts the pods on {object}."), gettextNoop("Evict the pods on {object}?")],
  replace: [gettextNoop("Deletes and recreates {object}."), gettextNoop("Delete and recreate {object}?")],
  stop_kubelet: [gettextNoop("Stops the kubelet of {object}."), gettextNoop("Stop the kubelet of {object}?")],
  stop_scheduler: [gettextNoop("Stops {object}."), gettextNoop("Stop {object}?")],
  cordon: [gettextNoop("Cordons {object}."), gettextNoop("Cordon {object}?")],
  uncordon: [gettextNoop("Uncordons {object}."), gettextNoop("Uncordon {object}?")],
  patch: [gettextNoop("Changes {object}."), gettextNoop("Change {object}?")],
  resize: [gettextNoop("Resizes {object}."), gettextNoop("Resize {object}?")],
  apply: [gettextNoop("Applies {object}."), gettextNoop("Apply {object}?")],
  create: [gettextNoop("Creates {object}."), gettextNoop("Create {object}?")],
  start_kubelet: [gettextNoop("Starts the kubelet of {object}."), gettextNoop("Start the kubelet of {object}?")],
  start_scheduler: [gettextNoop("Starts {object}."), gettextNoop("Start {object}?")],
  fault: [gettextNoop("Injects a fault: {object}."), gettextNoop("Inject a fault: {object}?")],
};

/**
 * The question to confirm before these commands are sent to *run*, as {title, button, lines, drains}, or null if
 * none is needed. `drains` is the name of the node to drain; the page counts its pods.
 */
export function consentFor(run, bodies) {
  const isFinished = run.status === "finished";
  if (!isFinished && !bodies.some(({verb}) => DESTRUCTIVE.has(verb))) return null;
  const drains = drained(bodies);
  const lines = drains ? [] : bodies.map(commandLine);
  if (isFinished)
    lines.push(
      gettext("The run is finished. This resumes it at {time}, until nothing is left to do.", {
        time: timeText(run.head_at ?? 0),
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

function commandLine(body) {
  return said(body, 0);
}

/** What a command does (`form` 0), or the question whether it may (1). */
function said({verb, object, manifest, patch}, form) {
  const subject = object ? parseId(object).key : (manifest?.metadata?.name ?? "");
  const what = verb === "fault" ? faultText(patch) : subject;
  return SAID[verb] ? gettextOf(SAID[verb][form], {object: what}) : `${verb} ${subject}`;
}

function titleOf(bodies) {
  if (bodies.length === 1) return said(bodies[0], 1);
  return ngettext("Send this {count} change?", "Send these {count} changes?", bodies.length);
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
  return bodies.length === 1 ? (BUTTONS[bodies[0].verb] ?? gettext("Send")) : gettext("Send");
}

/** What draining a node does, from what the server counts: {evicted, daemon, budgets: [{name, pods, allowed}]}. */
export function drainLines(node, {evicted, daemon, budgets}) {
  const lines = [
    ngettext("Cordons {node}, then evicts {count} pod.", "Cordons {node}, then evicts {count} pods.", evicted, {node}),
  ];
  if (daemon > 0) lines.push(ngettext("{count} pod of DaemonSets stays.", "{count} pods of DaemonSets stay.", daemon));
  return [...lines, ...budgets.map(budgetLine)];
}

function budgetLine({name, pods, allowed}) {
  const facts = {name, covered: count(pods)};
  const refused = Math.max(0, pods - allowed);
  if (refused === 0)
    return gettext("The disruption budget {name} covers {covered} of them and allows all of them.", facts);
  return ngettext(
    "The disruption budget {name} covers {covered} of them and allows {allowed}: {count} pod may stay.",
    "The disruption budget {name} covers {covered} of them and allows {allowed}: {count} pods may stay.",
    refused,
    {...facts, allowed: count(allowed)},
  );
}
