/** The sentence of each step of a film, and the names of its phases. */
import {rowsOf, fittingOf} from "../inside/cycle_filter.js";
import {many, requeuedWords, sentenceOf} from "../inside/cycle_words.js";
import {count, parseId} from "../shared/format.js";
import {eventText} from "../shared/event_words.js";
import {claimSays} from "./claim_film.js";
import {fittingUpTo} from "./paint_filter.js";

/** @typedef {import("./film.js").Film} Film */

export const PHASES = {
  pop: "Pop",
  snapshot: "Snapshot",
  order: "Node order",
  prefilter: "PreFilter",
  filter: "Filter",
  postfilter: "PostFilter",
  dryrun: "Dry run",
  ladder: "Ladder",
  prescore: "PreScore",
  score: "Score",
  normalize: "NormalizeScore",
  sum: "Weights",
  host: "Select host",
  bindqueue: "BindQueue",
  assume: "Assume",
  reserve: "Reserve",
  permit: "Permit",
  waitonpermit: "WaitOnPermit",
  prebind: "PreBind",
  bind: "Bind",
  postbind: "PostBind",
  unreserve: "Unreserve",
  forget: "ForgetPod",
  evict: "Evict",
  fail: "Park",
  nominate: "Nominate",
  wait: "Wait",
  again: "Next attempt",
  sync: "Sync",
  write: "Write",
  look: "Look",
};

/** The page Inside has these steps; each phase of a film belongs to one. */
const INSIDE = {
  prescore: "score",
  normalize: "score",
  sum: "score",
  dryrun: "postfilter",
  ladder: "postfilter",
  reserve: "assume",
  waitonpermit: "permit",
  postbind: "bind",
  unreserve: "assume",
  forget: "assume",
  evict: "postfilter",
  fail: "postfilter",
  nominate: "postfilter",
  wait: "pop",
  again: "pop",
};

/** The step of the page Inside that a step of a film belongs to. */
export function insideStep({phase}) {
  return INSIDE[phase] ?? phase;
}

/** The name of a pod without its namespace. */
export function podName(key) {
  return parseId(`pod/${key}`).name;
}

/** A name of an object id, such as "data-ledger-0". */
function nameOf(id) {
  return parseId(id).name;
}

/**
 * What happens at a step, in a sentence.
 *
 * @param {Film} film
 */
export function saysOf(film, step) {
  return film.kind === "claim" ? claimSays(film, step) : SAYS[step.phase](film.answer, step);
}

const SAYS = {
  pop: ({pod, pop, cycle}, {isBefore}) => {
    if (!isBefore) return `${podName(pod)} is popped and is in flight. Cycle ${count(cycle)} begins.`;
    if (pop.event === "Pop") return `${podName(pod)} is the first in activeQ.`;
    return `activeQ is empty, so ${podName(pod)} is popped from backoffQ before its backoff ends.`;
  },
  snapshot: (answer) => sentenceOf({id: "snapshot", state: "done"}, answer),
  order: ({order: {searched}}) =>
    searched.wanted >= searched.order.length
      ? `The search starts at index ${count(searched.start)}. It must look at all ${many(searched.order.length, "node")}.`
      : `The search starts at index ${count(searched.start)}. ${many(searched.wanted, "node that fits is", "nodes that fit are")} enough.`,
  prefilter: ({pre_filter: answers}, {plugin}) => prefilterWords(answers[plugin]),
  filter: filterWords,
  postfilter: ({post_filter: {ordered, outcome}}) =>
    ordered === null || ordered.nodes.length === 0
      ? outcome.message || "No node fits, and evictions help on none."
      : `No node fits. Evictions may help on ${many(ordered.nodes.length, "node")}.`,
  dryrun: ({post_filter: found}, {run}) => dryRunWords(found.dry_runs[run]),
  ladder: ({post_filter: found}, {rung}) => ladderWords(found.outcome, rung),
  prescore: ({score}) =>
    score.not_scored.length === 0
      ? `Every plugin will score ${many(score.nodes.length, "node")}.`
      : `${many(score.not_scored.length, "plugin has", "plugins have")} nothing to score. ${count(score.plugins.length)} will score ${many(score.nodes.length, "node")}.`,
  score: ({score}, {plugin}) =>
    `${score.plugins[plugin].plugin}: ${scoreList(score, ({scores}) => scores[plugin].raw)}.`,
  normalize: ({score}) => {
    const names = score.plugins.filter(({normalizes}) => normalizes).map(({plugin}) => plugin);
    return `${names.join(", ")}: raw scores are brought to one scale. The others have no NormalizeScore.`;
  },
  sum: ({score}, {plugin}) => {
    const {plugin: name, weight} = score.plugins[plugin];
    const isLast = plugin === score.plugins.length - 1;
    return `${name} × ${count(weight)}: ${scoreList(score, (node) => upTo(node, plugin))}${isLast ? ". The sum is complete." : " so far."}`;
  },
  host: hostWords,
  bindqueue: ({rounds}, {event, round}) => (event ? writeWords(event) : roundWords(rounds[round])),
  assume: (answer) => sentenceOf({id: "assume", state: "done"}, {...answer, volumes: null}),
  reserve: ({volumes}) => {
    const bind = volumes?.assumed.at(-1)?.bind ?? [];
    if (bind.length === 0) return "Reserve: nothing of the storage has to be bound.";
    const pairs = bind.map(({claim, volume}) => `${volume} for ${nameOf(`claim/${claim}`)}`);
    return `${pairs.join(", ")}: assumed in memory. Nothing is written.`;
  },
  permit: (answer) => sentenceOf({id: "permit", state: "done"}, answer),
  waitonpermit: () => "The pod waits for Permit.",
  prebind: ({volumes}, {event, look}) => (event ? writeWords(event) : lookWords(volumes.looks[look])),
  bind: ({bind, pod}) =>
    bind.code === "Success"
      ? `${podName(pod)} is bound to ${bind.node}.`
      : `The binding to ${bind.node} fails: ${bind.reasons.join(", ") || bind.code}.`,
  postbind: () => "The watch confirms it: the assumption is a fact.",
  unreserve: () => "Unreserve: the plugins undo what they reserved, in reverse order.",
  forget: ({assume}) => `The cache forgets the pod on ${assume.assumed.node}.`,
  evict: (_, {event}) => EVICTED[event.kind](nameOf(event.object)),
  fail: ({pod, queue}) =>
    `The attempt has failed. ${podName(pod)} returns to the queue. ${requeuedWords(queue.requeued)}`,
  nominate: ({post_filter: {outcome}}) => `status.nominatedNodeName names ${outcome.node}.`,
  wait: ({pod, queue}, {event, move}) =>
    event
      ? `${nameOf(event.object)} is gone: its room is free.`
      : `${queue.after[move].event}: ${podName(pod)} goes from ${placeWords(queue.after[move].place_from)} to ${placeWords(queue.after[move].place)}.`,
  again: ({pod}, {event}) => `${podName(pod)} is tried again: ${eventText(event)}.`,
};

const EVICTED = {
  PodDisrupted: (name) => `${name} gets the condition DisruptionTarget.`,
  PodEvicted: (name) => `${name} is deleted. It may take its grace period.`,
  Preempted: (name) => `The Event Preempted is written about ${name}.`,
};

const PLACES = {
  active: "activeQ",
  backoff: "backoffQ",
  unschedulable: "the unschedulable pods",
  in_flight: "in flight",
};

function placeWords(place) {
  return PLACES[place] ?? (place || "outside");
}

function prefilterWords({plugin, way, reasons, keeps}) {
  if (way === "skip") return `${plugin} has nothing to check. Skip.`;
  if (way === "goes on") return keeps.length > 0 ? `${plugin} keeps ${keeps.join(", ")}.` : `${plugin} goes on.`;
  return `${plugin} ${way} the pod: ${reasons.join(", ")}. No node is looked at.`;
}

function filterWords(answer, {search: place, from, upto}) {
  const search = answer.filter.searches[place];
  const first = search.search === "all nodes" ? "" : "The node of choice is asked first: ";
  if (upto - from > 1) return partWords(answer.order, search, from, upto);
  const {node, refusal} = rowsOf(search)[from];
  return refusal ? `${first}${node} is refused by ${refusal.plugin}.` : `${first}${node} fits.`;
}

/** A part of the search of a large cluster. */
function partWords(order, search, from, upto) {
  const fits = fittingUpTo(search, upto) - fittingUpTo(search, from);
  if (upto === search.nodes.length && search.unseen > 0)
    return `${many(fittingOf(search), "node fits", "nodes fit")}: the search stops. ${many(search.unseen, "node is", "nodes are")} not looked at.`;
  return `Nodes ${count(from + 1)} to ${count(upto)} of the search: ${count(fits)} fit, ${count(upto - from - fits)} are refused.`;
}

function dryRunWords({node, asked, refused}) {
  if (refused.length > 0) return `${node}: evictions do not help. ${refused.join(", ")}.`;
  const victims = asked.filter(({reprieved}) => !reprieved);
  const names = victims.slice(0, 3).map(({pod}) => podName(pod));
  const more = victims.length > names.length ? ` and ${count(victims.length - names.length)} more` : "";
  return `${node}: ${names.join(", ")}${more} would have to go. ${count(asked.length - victims.length)} of ${many(asked.length, "pod")} keep their place.`;
}

function ladderWords({rungs, candidates, node}, rung) {
  const before = rung === 0 ? candidates.length : rungs[rung - 1].left.length;
  const {left} = rungs[rung];
  const title = `Rung ${rung + 1}, ${rungs[rung].rung}`;
  if (rung === rungs.length - 1) return `${title}: ${node} is chosen.`;
  const fall = before - left.length;
  return `${title}: ${fall === 0 ? "no node drops out" : `${many(fall, "node drops", "nodes drop")} out`}.`;
}

const LISTED = 4;

function scoreList({nodes}, valueOf) {
  const shown = nodes.slice(0, LISTED).map((node) => count(valueOf(node)));
  return shown.join(", ") + (nodes.length > LISTED ? " …" : "");
}

/** The sum of a node's weighted scores up to a plugin. */
export function upTo({scores}, plugin) {
  return scores.slice(0, plugin + 1).reduce((sum, {weighted}) => sum + weighted, 0);
}

function hostWords({host, score}, {isDrawn}) {
  if (isDrawn) return TIES[host.way]?.(host.node) ?? `${host.node} is taken.`;
  if (host.tied.length > 1) return `${many(host.tied.length, "node")} have the highest total, ${count(host.total)}.`;
  return score?.is_compared ? `${host.node} has the highest total, ${count(host.total)}.` : `Only ${host.node} fits.`;
}

const TIES = {
  random: (node) => `The draw takes ${node}.`,
  turn: (node) => `It is the turn of ${node}.`,
  name: (node) => `${node} is the first by name.`,
};

function roundWords({what, node, error}) {
  if (error) return `The round fails: ${error}`;
  if (what === "queued") return `The pod enters the BindQueue for ${node}.`;
  if (what === "ended") return "The round ends. The attempt is an error on purpose: the pod is tried again.";
  return "The worker finds nothing to write.";
}

const WROTE = {
  VolumePreBound: (name) => `The scheduler writes spec.claimRef of ${name}.`,
  VolumeProvisioned: (name) => `The provisioner makes ${name}.`,
  VolumeBound: (name) => `The PV controller makes ${name} Bound.`,
  ClaimBindCompleted: (name) => `The PV controller writes spec.volumeName of ${name}.`,
  ClaimBound: (name) => `${name} is Bound. The scheduler has not looked yet.`,
};

function writeWords({kind, object}) {
  return WROTE[kind](nameOf(object));
}

function lookWords({is_bound: isBound, error}) {
  if (error) return `PreBind fails: ${error}`;
  return isBound ? "PreBind looks: all claims are bound." : "PreBind looks: not all claims are bound yet.";
}
