/** The words of a scheduling cycle: what came out of each step, and what it means. */
import {count, duration, moment, parseId} from "../shared/format.js";
import {hasBindQueue} from "./cycle.js";
import {fittingOf, groupsOf, mainSearch} from "./cycle_filter.js";
import {scoresOf} from "./cycle_score.js";

/** "1 node", "3 nodes". */
export function many(number, one, several = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : several}`;
}

/** The zone of the node tree without its region: "eu-1:\0:eu-1a" → "eu-1a". */
export function zoneName(zone) {
  return zone.split(":\u0000:").filter(Boolean).at(-1) ?? "";
}

function podName({pod}) {
  return parseId(`pod/${pod}`).name;
}

/** What came out of a step, in a few words. */
export function outcomeOf({id, state}, answer) {
  if (state === "ahead") return "ahead";
  if (state === "off") return "not reached";
  return OUTCOMES[id](answer);
}

const OUTCOMES = {
  pop: ({pop}) => (pop.event === "Pop" ? "first of activeQ" : pop.event),
  snapshot: ({snapshot}) => {
    const {copied, kept} = snapshot.taken;
    return `${copied.length} of ${many(copied.length + kept, "node")} copied`;
  },
  order: ({order}) => `starts at index ${order.searched.start}`,
  prefilter: ({pre_filter: answers}) => {
    const refuses = answers.find(({way}) => way === "refuses" || way === "fails");
    if (refuses) return `${refuses.plugin} ${refuses.way}`;
    return `${answers.filter(({way}) => way === "skip").length} of ${many(answers.length, "plugin")} skip`;
  },
  filter: ({filter}) => {
    const search = mainSearch(filter);
    return `${fittingOf(search)} of ${many(search.nodes.length, "node")} fit`;
  },
  postfilter: ({post_filter: {outcome}}) => (outcome.node ? `${outcome.node} nominated` : "no candidate"),
  score: (answer) => {
    if (!answer.score.is_compared) return "one node, no comparison";
    const {nodes, others} = scoresOf(answer);
    const more = nodes.length > 3 || others > 0 ? " …" : "";
    return `${nodes
      .slice(0, 3)
      .map(({total}) => total)
      .join(" · ")}${more}`;
  },
  host: ({host}) => (host.tied.length > 1 ? `${host.node}, one of ${host.tied.length} tied` : host.node),
  bindqueue: ({rounds}) => {
    const ended = rounds.find(({what}) => what === "ended");
    if (ended) return ended.error ? "the round failed" : "the round ended";
    return rounds.length > 0 ? rounds.at(-1).what : "no volume to bind";
  },
  assume: ({assume, volumes}) => {
    const bound = volumes?.assumed.at(-1)?.bind.map(({volume}) => volume) ?? [];
    if (assume.forgotten) return "forgotten again";
    return bound.length > 0 ? `pod, then ${bound.join(", ")}` : "the pod alone";
  },
  permit: (answer) => pointWords(pointOf(answer, "Permit"), "no plugin waits"),
  prebind: (answer) => {
    const {looks = []} = answer.volumes ?? {};
    if (looks.length > 0) return `looks ${many(looks.length, "time")}`;
    return pointWords(pointOf(answer, "PreBind"), "nothing to do");
  },
  bind: ({bind}) => (bind.code === "Success" ? `nodeName = ${bind.node}` : bind.code),
};

/** What an extension point answered, null if no plugin had work there. */
export function pointOf({points}, name) {
  return points.findLast(({point}) => point === name) ?? null;
}

function pointWords(point, empty) {
  if (!point) return empty;
  return point.code === "Success"
    ? many(point.answers.length, "plugin says Success", "plugins say Success")
    : point.code;
}

/** What a step means, in one or two sentences. */
export function sentenceOf({id, state}, answer) {
  if (state === "ahead") return "The cycle has not come to this step.";
  if (state === "off") return NOT_REACHED[id]?.(answer) ?? "Not reached.";
  return SENTENCES[id](answer);
}

const NOT_REACHED = {
  postfilter: ({filter}) =>
    filter
      ? `Not reached: it runs only when no node passes. ${many(fittingOf(mainSearch(filter)), "node")} did.`
      : "Not reached: a plugin refused the pod in PreFilter.",
  filter: () => "Not reached: a plugin refused the pod in PreFilter.",
};

const SENTENCES = {
  pop: (answer) =>
    `${podName(answer)} leaves the queue and is in flight. Cycle ${answer.cycle} begins, attempt ${answer.pop.attempt}.`,
  snapshot: ({snapshot}) => {
    const {copied, kept} = snapshot.taken;
    if (copied.length === 0) return "Nothing changed since the last snapshot, so no node is copied.";
    return `Only what changed since the last snapshot is copied: ${count(copied.length)} of ${many(copied.length + kept, "node")}.`;
  },
  order: ({order, version}) => {
    const where = version === "v1.11" ? "from the first node" : `from index ${order.searched.start}`;
    return order.tree.zones.length > 1
      ? `One node from each zone in turn, ${where}, so that the first nodes looked at are spread.`
      : `All nodes are in one zone. They are looked at in order, ${where}.`;
  },
  prefilter: ({pre_filter: answers}) => {
    const refuses = answers.find(({way}) => way === "refuses" || way === "fails");
    if (refuses) return `${refuses.plugin} ends the cycle before a node is looked at: ${refuses.reasons.join(", ")}.`;
    const skips = answers.filter(({way}) => way === "skip").length;
    if (skips === 0) return "Each plugin reads the pod once. All of them have something to check.";
    return `Each plugin reads the pod once. ${many(skips, "plugin has", "plugins have")} nothing to check, and will not be called at Filter.`;
  },
  filter: ({filter}) => {
    const search = mainSearch(filter);
    const fitting = fittingOf(search);
    if (fitting === 0) return blockerOf(search);
    return `A node is dropped at its first refusal. ${count(search.calls)} of ${many(search.calls_at_most, "call")} are made; ${many(fitting, "node passes", "nodes pass")}.`;
  },
  postfilter: ({post_filter: {outcome}, filter}) => {
    if (!outcome.node) return outcome.message || "Preemption finds no node where evictions would help.";
    const chosen = outcome.candidates.find(({node}) => node === outcome.node);
    const gone = chosen ? many(chosen.victims.length, "pod") : "no pod";
    return `${filter ? "No node passes. " : ""}On ${outcome.node} there is room once ${gone} of lower priority ${chosen?.victims.length === 1 ? "is" : "are"} gone: the pod is nominated there, and will be tried again.`;
  },
  score: (answer) => {
    if (!answer.score.is_compared) return "Only one node fits, so nothing is scored.";
    const {nodes, same} = scoresOf(answer);
    const totals = nodes.slice(0, 3).map(({node, total}) => `${node} gets ${count(total)}`);
    return `${totals.join(", ")}. ${same > 0 ? `${count(same)} points of each are the same.` : "Each plugin tells the nodes apart."}`;
  },
  host: ({host}) => {
    if (host.tied.length < 2) return `${host.node} has the highest score.`;
    return `${many(host.tied.length, "node")} have ${count(host.total)}. ${TIES[host.way]?.(host.node) ?? `${host.node} is taken.`}`;
  },
  bindqueue: ({rounds}) =>
    rounds.length === 0
      ? "The pod has no volume that is still to be bound, so it does not wait in the BindQueue."
      : "v1.11 binds volumes in rounds: a worker writes them, the attempt ends as an error on purpose, and the pod is tried again.",
  assume: (answer) => {
    const {assume, volumes} = answer;
    const bound = volumes?.assumed.at(-1)?.bind.map(({volume}) => volume) ?? [];
    const too = bound.length > 0 ? ` and ${bound.join(", ")} as taken` : "";
    const known =
      bound.length > 0 ? "though the API server knows neither" : "though the API server does not know it yet";
    return `From here the scheduler counts ${podName(answer)} on ${assume.assumed.node}${too}, ${known}.`;
  },
  permit: (answer) => {
    const point = pointOf(answer, "Permit");
    if (!point)
      return "No plugin of this profile asks to wait. The loop is free: the next cycle may start while this pod binds.";
    return `${point.answers.map(({plugin, code}) => `${plugin} says ${code}`).join(", ")}.`;
  },
  prebind: ({volumes}) => {
    const {written = [], looks = []} = volumes ?? {};
    const error = written.find((each) => each.error)?.error ?? looks.find((each) => each.error)?.error;
    if (error) return `PreBind fails: ${error}`;
    if (written.length === 0) return "Nothing has to be written before the pod is bound.";
    if (!looks.some((each) => each.is_bound))
      return "The volumes are written. PreBind looks once a second whether they are bound.";
    return "The volumes are written. PreBind looks once a second, so it learns with a look that they are bound.";
  },
  bind: ({bind, pod}) =>
    bind.code === "Success"
      ? `One write to pods/${parseId(`pod/${pod}`).name}/binding. When the watch brings it back, the assumption becomes a fact.`
      : `The write fails: ${bind.reasons.join(", ") || bind.code}.`,
};

const TIES = {
  random: (node) => `The draw of the run's seed takes ${node}.`,
  turn: (node) => `They are taken in turn; it is the turn of ${node}.`,
  name: (node) => `${node} is the first by name.`,
};

/** Why no node fits: "None of 12 nodes fits: 9 say “Insufficient cpu”, …". */
export function blockerOf(search) {
  const reasons = groupsOf(search)
    .slice(0, 3)
    .map((group) => `${count(group.many)} × ${group.reasons.join(", ") || group.plugin}`);
  const absent = search.absent > 0 ? ` ${many(search.absent, "node was", "nodes were")} left out by PreFilter.` : "";
  return `None of ${many(search.nodes.length, "node")} fits: ${reasons.join("; ")}.${absent}`;
}

/** How long a band took, as the engine tells it: "serial · 162 ms". */
export function bandWords(band, {began, ended}) {
  const kind = band === "binding" ? "async" : "serial";
  return began === null || ended === null || ended === began ? kind : `${kind} · ${duration(ended - began)}`;
}

/** The whole cycle in a sentence. */
export function cycleWords(answer) {
  const {bind, queue} = answer;
  if (bind?.code === "Success") return `bound to ${bind.node}`;
  if (queue.requeued) return `back to ${PLACES[queue.requeued.place] ?? queue.requeued.place}`;
  return answer.assume
    ? `assumed on ${answer.assume.assumed.node}`
    : hasBindQueue(answer)
      ? "in a round"
      : "in progress";
}

const PLACES = {active: "activeQ", backoff: "backoffQ", unschedulable: "unschedulable pods"};

/** Where the pod went after a failure, and why. */
export function requeuedWords({place, judged_by: judge, missed, pod_scheduling_cycle: own, move_request_cycle: moved}) {
  const where = PLACES[place] ?? place;
  if (judge === "moveRequestCycle") {
    const holds = moved >= own;
    // An error sends the pod there whatever the counters say.
    if (holds === (place === "unschedulable")) return `It goes to ${where}.`;
    return `It goes to ${where}: moveRequestCycle ${moved} ${holds ? "≥" : "<"} schedulingCycle ${own}.`;
  }
  if (missed.length === 0 && place !== "unschedulable") return `It goes to ${where}.`;
  if (missed.length === 0) return `It goes to ${where}: no event came while it was in flight.`;
  return `It goes to ${where}: ${many(missed.length, "event")} came while it was in flight.`;
}

/** How a backoff came about. */
export function backoffWords({failures, initial, maximum, duration: length, ends, over_at: over}) {
  const grown = failures > 1 ? `, doubled ${many(failures - 1, "time")}, at most ${duration(maximum)}` : "";
  const flush = over > ends ? ` It may be tried from ${moment(over)} s on.` : "";
  return `Backoff: ${duration(initial)}${grown}: ${duration(length)}, until ${moment(ends)} s.${flush}`;
}
