/** The sentence of each step of a film, and the names of its phases. */
import {gettext, labelled, listText, ngettext, sentences} from "../../lib/words.js";
import {rowsOf, fittingOf} from "../inside/cycle_filter.js";
import {requeuedWords, sentenceOf} from "../inside/cycle_words.js";
import {count, duration, parseId} from "../shared/format.js";
import {eventText} from "../shared/event_words.js";
import {claimSays} from "./claim_film.js";
import {fittingUpTo} from "./paint_filter.js";

/** @typedef {import("./film.js").Film} Film */

export const PHASES = {
  pop: "Pop",
  snapshot: gettext("Snapshot"),
  order: gettext("Node order"),
  prefilter: "PreFilter",
  filter: "Filter",
  postfilter: "PostFilter",
  dryrun: gettext("Dry run"),
  ladder: gettext("Ladder"),
  prescore: "PreScore",
  score: "Score",
  normalize: "NormalizeScore",
  sum: gettext("Weights"),
  host: gettext("Select host"),
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
  evict: gettext("Evict"),
  fail: gettext("Park"),
  nominate: gettext("Nominate"),
  wait: gettext("Wait"),
  again: gettext("Next attempt"),
  leave: gettext("Victim leaves"),
  sync: gettext("Sync"),
  write: gettext("Write"),
  look: gettext("Look"),
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
  leave: "postfilter",
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
    if (!isBefore)
      return gettext("{pod} is popped and is in flight. Cycle {cycle} begins.", {
        pod: podName(pod),
        cycle: count(cycle),
      });
    if (pop.event === "Pop") return gettext("{pod} is the first in activeQ.", {pod: podName(pod)});
    return gettext("activeQ is empty, so {pod} is popped from backoffQ before its backoff ends.", {pod: podName(pod)});
  },
  snapshot: (answer) => sentenceOf({id: "snapshot", state: "done"}, answer),
  order: ({order: {searched}}) =>
    searched.wanted >= searched.order.length
      ? ngettext(
          "The search starts at index {start}. It must look at all {count} node.",
          "The search starts at index {start}. It must look at all {count} nodes.",
          searched.order.length,
          {start: count(searched.start)},
        )
      : ngettext(
          "The search starts at index {start}. {count} node that fits is enough.",
          "The search starts at index {start}. {count} nodes that fit are enough.",
          searched.wanted,
          {start: count(searched.start)},
        ),
  prefilter: ({pre_filter: answers}, {plugin}) => prefilterWords(answers[plugin]),
  filter: filterWords,
  postfilter: ({post_filter: {ordered, outcome}}) =>
    ordered === null || ordered.nodes.length === 0
      ? outcome.message || gettext("No node fits, and evictions help on none.")
      : ngettext(
          "No node fits. Evictions may help on {count} node.",
          "No node fits. Evictions may help on {count} nodes.",
          ordered.nodes.length,
        ),
  dryrun: ({post_filter: found}, {run}) => dryRunWords(found.dry_runs[run]),
  ladder: ({post_filter: found}, {rung}) => ladderWords(found.outcome, rung),
  prescore: ({score}) =>
    score.not_scored.length === 0
      ? ngettext("Every plugin will score {count} node.", "Every plugin will score {count} nodes.", score.nodes.length)
      : sentences([
          ngettext(
            "{count} plugin has nothing to score.",
            "{count} plugins have nothing to score.",
            score.not_scored.length,
          ),
          ngettext("{plugins} will score {count} node.", "{plugins} will score {count} nodes.", score.nodes.length, {
            plugins: count(score.plugins.length),
          }),
        ]),
  score: ({score}, {plugin}) =>
    gettext("{words}.", {
      words: labelled(
        score.plugins[plugin].plugin,
        scoreList(score, ({scores}) => scores[plugin].raw),
      ),
    }),
  normalize: ({score}) => {
    const names = score.plugins.filter(({normalizes}) => normalizes).map(({plugin}) => plugin);
    return gettext("{names}: raw scores are brought to one scale. The others have no NormalizeScore.", {
      names: listText(names),
    });
  },
  sum: ({score}, {plugin}) => {
    const {plugin: name, weight} = score.plugins[plugin];
    const isLast = plugin === score.plugins.length - 1;
    const facts = {plugin: `${name} × ${count(weight)}`, scores: scoreList(score, (node) => upTo(node, plugin))};
    return isLast
      ? gettext("{plugin}: {scores}. The sum is complete.", facts)
      : gettext("{plugin}: {scores} so far.", facts);
  },
  host: hostWords,
  bindqueue: ({rounds}, {event, round}) => (event ? writeWords(event) : roundWords(rounds[round])),
  assume: (answer) => sentenceOf({id: "assume", state: "done"}, {...answer, volumes: null}),
  reserve: ({volumes}) => {
    const bind = volumes?.assumed.at(-1)?.bind ?? [];
    if (bind.length === 0) return gettext("Reserve: no storage has to be bound.");
    const pairs = bind.map(({claim, volume}) =>
      gettext("{volume} for {claim}", {volume, claim: nameOf(`claim/${claim}`)}),
    );
    return gettext("{pairs}: assumed in memory. Nothing is written.", {pairs: listText(pairs)});
  },
  permit: (answer) => sentenceOf({id: "permit", state: "done"}, answer),
  waitonpermit: () => gettext("The pod waits for Permit."),
  prebind: ({volumes}, {event, look}) => (event ? writeWords(event) : lookWords(volumes.looks[look])),
  bind: ({bind, pod}) =>
    bind.code === "Success"
      ? gettext("{pod} is bound to {node}.", {pod: podName(pod), node: bind.node})
      : gettext("The binding to {node} fails: {reasons}.", {
          node: bind.node,
          reasons: listText(bind.reasons) || bind.code,
        }),
  postbind: () => gettext("The watch confirms it: the assumption is a fact."),
  unreserve: () => gettext("Unreserve: the plugins undo what they reserved, in reverse order."),
  forget: ({assume}) => gettext("The cache forgets the pod on {node}.", {node: assume.assumed.node}),
  evict: (_, {event}) => EVICTED[event.kind](nameOf(event.object)),
  fail: ({pod, queue}) =>
    sentences([
      gettext("The attempt has failed. {pod} returns to the queue.", {pod: podName(pod)}),
      requeuedWords(queue.requeued),
    ]),
  nominate: ({post_filter: {outcome}}) => gettext("status.nominatedNodeName names {node}.", {node: outcome.node}),
  wait: ({pod, queue}, {event, move}) =>
    event
      ? gettext("{object} is gone: its room is free.", {object: nameOf(event.object)})
      : gettext("{event}: {pod} goes from {from} to {to}.", {
          event: queue.after[move].event,
          pod: podName(pod),
          from: queuePlace(queue.after[move].place_from),
          to: queuePlace(queue.after[move].place),
        }),
  again: ({pod}, {event}) => gettext("{pod} is tried again: {event}.", {pod: podName(pod), event: eventText(event)}),
  leave: (_, {event, since, at}) =>
    since === null
      ? gettext("{object} is gone only now, after the next attempt.", {object: nameOf(event.object)})
      : gettext("{object} is gone only now, {time} after it was evicted and after the next attempt.", {
          object: nameOf(event.object),
          time: duration(at - since),
        }),
};

const EVICTED = {
  PodDisrupted: (name) => gettext("{name} gets the condition DisruptionTarget.", {name}),
  PodEvicted: (name) => gettext("{name} is deleted. It may take its grace period.", {name}),
  Preempted: (name) => gettext("The Event Preempted is written about {name}.", {name}),
};

const PLACES = {
  active: "activeQ",
  backoff: "backoffQ",
  unschedulable: gettext("the unschedulable pods"),
  in_flight: gettext("in flight"),
};

function queuePlace(place) {
  return PLACES[place] ?? (place || gettext("outside"));
}

function prefilterWords({plugin, way, reasons, keeps}) {
  if (way === "skip") return gettext("{plugin} has nothing to check. Skip.", {plugin});
  if (way === "goes on")
    return keeps.length > 0
      ? gettext("{plugin} keeps {keeps}.", {plugin, keeps: listText(keeps)})
      : gettext("{plugin} goes on.", {plugin});
  const facts = {plugin, reasons: listText(reasons)};
  return way === "refuses"
    ? gettext("{plugin} refuses the pod: {reasons}. No node is looked at.", facts)
    : gettext("{plugin} fails the pod: {reasons}. No node is looked at.", facts);
}

function filterWords(answer, {search: place, from, upto}) {
  const search = answer.filter.searches[place];
  if (upto - from > 1) return partWords(answer.order, search, from, upto);
  const {node, refusal} = rowsOf(search)[from];
  if (search.search === "all nodes")
    return refusal
      ? gettext("{node} is refused by {plugin}.", {node, plugin: refusal.plugin})
      : gettext("{node} fits.", {node});
  return refusal
    ? gettext("The node of choice is asked first: {node} is refused by {plugin}.", {node, plugin: refusal.plugin})
    : gettext("The node of choice is asked first: {node} fits.", {node});
}

/** A part of the search of a large cluster. */
function partWords(order, search, from, upto) {
  const fits = fittingUpTo(search, upto) - fittingUpTo(search, from);
  if (upto === search.nodes.length && search.unseen > 0)
    return sentences([
      ngettext("{count} node fits: the search stops.", "{count} nodes fit: the search stops.", fittingOf(search)),
      ngettext("{count} node is not looked at.", "{count} nodes are not looked at.", search.unseen),
    ]);
  return gettext("Nodes {from} to {upto} of the search: {fits} fit, {refused} are refused.", {
    from: count(from + 1),
    upto: count(upto),
    fits: count(fits),
    refused: count(upto - from - fits),
  });
}

function dryRunWords({node, asked, refused}) {
  if (refused.length > 0)
    return gettext("{node}: evictions do not help. {refused}.", {node, refused: listText(refused)});
  const victims = asked.filter(({reprieved}) => !reprieved);
  const names = victims.slice(0, 3).map(({pod}) => podName(pod));
  const more = victims.length - names.length;
  const facts = {node, names: listText(names)};
  return sentences([
    more > 0
      ? ngettext(
          "{node}: {names} and {count} more would have to go.",
          "{node}: {names} and {count} more would have to go.",
          more,
          facts,
        )
      : gettext("{node}: {names} would have to go.", facts),
    ngettext("{kept} of {count} pod keep their place.", "{kept} of {count} pods keep their place.", asked.length, {
      kept: count(asked.length - victims.length),
    }),
  ]);
}

function ladderWords({rungs, candidates, node}, rung) {
  const before = rung === 0 ? candidates.length : rungs[rung - 1].left.length;
  const {left} = rungs[rung];
  const facts = {number: rung + 1, rung: rungs[rung].rung};
  if (rung === rungs.length - 1) return gettext("Rung {number}, {rung}: {node} is chosen.", {...facts, node});
  const fall = before - left.length;
  if (fall === 0) return gettext("Rung {number}, {rung}: no node drops out.", facts);
  return ngettext(
    "Rung {number}, {rung}: {count} node drops out.",
    "Rung {number}, {rung}: {count} nodes drop out.",
    fall,
    facts,
  );
}

const LISTED = 4;

function scoreList({nodes}, valueOf) {
  const shown = nodes.slice(0, LISTED).map((node) => count(valueOf(node)));
  return listText(shown) + (nodes.length > LISTED ? " …" : "");
}

/** The sum of a node's weighted scores up to a plugin. */
export function upTo({scores}, plugin) {
  return scores.slice(0, plugin + 1).reduce((sum, {weighted}) => sum + weighted, 0);
}

function hostWords({host, score}, {isDrawn}) {
  if (isDrawn) return TIES[host.way]?.(host.node) ?? gettext("{node} is taken.", {node: host.node});
  if (host.tied.length > 1)
    return ngettext(
      "{count} node have the highest total, {total}.",
      "{count} nodes have the highest total, {total}.",
      host.tied.length,
      {total: count(host.total)},
    );
  return score?.is_compared
    ? gettext("{node} has the highest total, {total}.", {node: host.node, total: count(host.total)})
    : gettext("Only {node} fits.", {node: host.node});
}

const TIES = {
  random: (node) => gettext("The draw takes {node}.", {node}),
  turn: (node) => gettext("It is the turn of {node}.", {node}),
  name: (node) => gettext("{node} is the first by name.", {node}),
};

function roundWords({what, node, error}) {
  if (error) return gettext("The round fails: {error}", {error});
  if (what === "queued") return gettext("The pod enters the BindQueue for {node}.", {node});
  if (what === "ended") return gettext("The round ends. The attempt is an error on purpose: the pod is tried again.");
  return gettext("The worker finds nothing to write.");
}

const WROTE = {
  VolumePreBound: (name) => gettext("The scheduler writes spec.claimRef of {name}.", {name}),
  VolumeProvisioned: (name) => gettext("The provisioner makes {name}.", {name}),
  VolumeBound: (name) => gettext("The PV controller makes {name} Bound.", {name}),
  ClaimBindCompleted: (name) => gettext("The PV controller writes spec.volumeName of {name}.", {name}),
  ClaimBound: (name) => gettext("{name} is Bound. The scheduler has not looked yet.", {name}),
};

function writeWords({kind, object}) {
  return WROTE[kind](nameOf(object));
}

function lookWords({is_bound: isBound, error}) {
  if (error) return gettext("PreBind fails: {error}", {error});
  return isBound
    ? gettext("PreBind looks: all claims are bound.")
    : gettext("PreBind looks: not all claims are bound yet.");
}
