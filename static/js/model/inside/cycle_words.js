/** The words of a scheduling cycle: what came out of each step, and what it means. */
import {clauses, gettext, listText, ngettext, sentences} from "../../lib/words.js";
import {count, duration, parseId, timeText} from "../shared/format.js";
import {hasBindQueue} from "./cycle.js";
import {fittingOf, groupsOf, mainSearch} from "./cycle_filter.js";
import {scoresOf} from "./cycle_score.js";

/** The zone of the node tree without its region: "eu-1:\0:eu-1a" → "eu-1a". */
export function zoneName(zone) {
  return zone.split(":\u0000:").filter(Boolean).at(-1) ?? "";
}

function podName({pod}) {
  return parseId(`pod/${pod}`).name;
}

/** What came out of a step, in a few words. */
export function outcomeOf({id, state}, answer) {
  if (state === "ahead") return gettext("ahead");
  if (state === "off") return gettext("not reached");
  return OUTCOMES[id](answer);
}

const OUTCOMES = {
  pop: ({pop}) => (pop.event === "Pop" ? gettext("first of activeQ") : pop.event),
  snapshot: ({snapshot}) => {
    const {copied, kept} = snapshot.taken;
    return ngettext("{copied} of {count} node copied", "{copied} of {count} nodes copied", copied.length + kept, {
      copied: count(copied.length),
    });
  },
  order: ({order}) => gettext("starts at index {start}", {start: order.searched.start}),
  prefilter: ({pre_filter: answers}) => {
    const refuses = answers.find(({way}) => way === "refuses" || way === "fails");
    if (refuses?.way === "fails") return gettext("{plugin} fails", {plugin: refuses.plugin});
    if (refuses) return gettext("{plugin} refuses", {plugin: refuses.plugin});
    return ngettext("{skips} of {count} plugin skip", "{skips} of {count} plugins skip", answers.length, {
      skips: answers.filter(({way}) => way === "skip").length,
    });
  },
  filter: ({filter}) => {
    const search = mainSearch(filter);
    return ngettext("{fitting} of {count} node fit", "{fitting} of {count} nodes fit", search.nodes.length, {
      fitting: fittingOf(search),
    });
  },
  postfilter: ({post_filter: {outcome}}) =>
    outcome.node ? gettext("{node} nominated", {node: outcome.node}) : gettext("no candidate"),
  score: (answer) => {
    if (!answer.score.is_compared) return gettext("one node, no comparison");
    const {nodes, others} = scoresOf(answer);
    const more = nodes.length > 3 || others > 0 ? " …" : "";
    return `${nodes
      .slice(0, 3)
      .map(({total}) => total)
      .join(" · ")}${more}`;
  },
  host: ({host}) =>
    host.tied.length > 1
      ? gettext("{node}, one of {tied} tied", {node: host.node, tied: count(host.tied.length)})
      : host.node,
  bindqueue: ({rounds}) => {
    const ended = rounds.find(({what}) => what === "ended");
    if (ended) return ended.error ? gettext("the round failed") : gettext("the round ended");
    return rounds.length > 0 ? rounds.at(-1).what : gettext("no volume to bind");
  },
  assume: ({assume, volumes}) => {
    const bound = volumes?.assumed.at(-1)?.bind.map(({volume}) => volume) ?? [];
    if (assume.forgotten) return gettext("forgotten again");
    return bound.length > 0 ? gettext("pod, then {bound}", {bound: listText(bound)}) : gettext("the pod alone");
  },
  permit: (answer) => pointWords(pointOf(answer, "Permit"), gettext("no plugin waits")),
  prebind: (answer) => {
    const {looks = []} = answer.volumes ?? {};
    if (looks.length > 0) return ngettext("looks {count} time", "looks {count} times", looks.length);
    return pointWords(pointOf(answer, "PreBind"), gettext("nothing to do"));
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
    ? ngettext("{count} plugin says Success", "{count} plugins say Success", point.answers.length)
    : point.code;
}

/** What a step means, in one or two sentences. */
export function sentenceOf({id, state}, answer) {
  if (state === "ahead") return gettext("The cycle has not come to this step.");
  if (state === "off") return NOT_REACHED[id]?.(answer) ?? gettext("Not reached.");
  return SENTENCES[id](answer);
}

const NOT_REACHED = {
  postfilter: ({filter}) =>
    filter
      ? ngettext(
          "Not reached: it runs only when no node passes. {count} node did.",
          "Not reached: it runs only when no node passes. {count} nodes did.",
          fittingOf(mainSearch(filter)),
        )
      : gettext("Not reached: a plugin refused the pod in PreFilter."),
  filter: () => gettext("Not reached: a plugin refused the pod in PreFilter."),
};

const SENTENCES = {
  pop: (answer) =>
    gettext("{pod} leaves the queue and is in flight. Cycle {cycle} begins, attempt {attempt}.", {
      pod: podName(answer),
      cycle: answer.cycle,
      attempt: answer.pop.attempt,
    }),
  snapshot: ({snapshot}) => {
    const {copied, kept} = snapshot.taken;
    if (copied.length === 0) return gettext("Nothing changed since the last snapshot, so no node is copied.");
    return ngettext(
      "Only what changed since the last snapshot is copied: {copied} of {count} node.",
      "Only what changed since the last snapshot is copied: {copied} of {count} nodes.",
      copied.length + kept,
      {copied: count(copied.length)},
    );
  },
  order: ({order, version}) => {
    const {start} = order.searched;
    const isSpread = order.tree.zones.length > 1;
    if (version === "v1.11")
      return isSpread
        ? gettext("One node from each zone in turn, from the first node, so that the first nodes looked at are spread.")
        : gettext("All nodes are in one zone. They are looked at in order, from the first node.");
    return isSpread
      ? gettext("One node from each zone in turn, from index {start}, so that the first nodes looked at are spread.", {
          start,
        })
      : gettext("All nodes are in one zone. They are looked at in order, from index {start}.", {start});
  },
  prefilter: ({pre_filter: answers}) => {
    const refuses = answers.find(({way}) => way === "refuses" || way === "fails");
    if (refuses)
      return gettext("{plugin} ends the cycle before a node is looked at: {reasons}.", {
        plugin: refuses.plugin,
        reasons: listText(refuses.reasons),
      });
    const skips = answers.filter(({way}) => way === "skip").length;
    if (skips === 0) return gettext("Each plugin reads the pod once. All of them have something to check.");
    return ngettext(
      "Each plugin reads the pod once. {count} plugin has nothing to check, and will not be called at Filter.",
      "Each plugin reads the pod once. {count} plugins have nothing to check, and will not be called at Filter.",
      skips,
    );
  },
  filter: ({filter}) => {
    const search = mainSearch(filter);
    const fitting = fittingOf(search);
    if (fitting === 0) return blockerOf(search);
    return sentences([
      gettext("A node is dropped at its first refusal."),
      sentence(
        clauses([
          ngettext("{calls} of {count} call are made", "{calls} of {count} calls are made", search.calls_at_most, {
            calls: count(search.calls),
          }),
          ngettext("{count} node passes", "{count} nodes pass", fitting),
        ]),
      ),
    ]);
  },
  postfilter: ({post_filter: {outcome}, filter}) => {
    if (!outcome.node) return outcome.message || gettext("Preemption finds no node where evictions would help.");
    const chosen = outcome.candidates.find(({node}) => node === outcome.node);
    return sentences([
      filter && gettext("No node passes."),
      ngettext(
        "On {node} there is room once {count} pod of lower priority is gone: the pod is nominated there, and will be tried again.",
        "On {node} there is room once {count} pods of lower priority are gone: the pod is nominated there, and will be tried again.",
        chosen?.victims.length ?? 0,
        {node: outcome.node},
      ),
    ]);
  },
  score: (answer) => {
    if (!answer.score.is_compared) return gettext("Only one node fits, so nothing is scored.");
    const {nodes, same} = scoresOf(answer);
    const totals = nodes
      .slice(0, 3)
      .map(({node, total}) => gettext("{node} gets {total}", {node, total: count(total)}));
    return sentences([
      sentence(listText(totals)),
      same > 0
        ? gettext("{same} points of each are the same.", {same: count(same)})
        : gettext("Each plugin tells the nodes apart."),
    ]);
  },
  host: ({host}) => {
    if (host.tied.length < 2) return gettext("{node} has the highest score.", {node: host.node});
    return sentences([
      ngettext("{count} node have {total}.", "{count} nodes have {total}.", host.tied.length, {
        total: count(host.total),
      }),
      TIES[host.way]?.(host.node) ?? gettext("{node} is taken.", {node: host.node}),
    ]);
  },
  bindqueue: ({rounds}) =>
    rounds.length === 0
      ? gettext("The pod has no volume that is still to be bound, so it does not wait in the BindQueue.")
      : gettext(
          "v1.11 binds volumes in rounds: a worker writes them, the attempt ends as an error on purpose, and the pod is tried again.",
        ),
  assume: (answer) => {
    const {assume, volumes} = answer;
    const bound = volumes?.assumed.at(-1)?.bind.map(({volume}) => volume) ?? [];
    const facts = {pod: podName(answer), node: assume.assumed.node};
    if (bound.length === 0)
      return gettext(
        "From here the scheduler counts {pod} on {node}, though the API server does not know it yet.",
        facts,
      );
    return gettext(
      "From here the scheduler counts {pod} on {node} and {volumes} as taken, though the API server knows neither.",
      {...facts, volumes: listText(bound)},
    );
  },
  permit: (answer) => {
    const point = pointOf(answer, "Permit");
    if (!point)
      return gettext(
        "No plugin of this profile asks to wait. The loop is free: the next cycle may start while this pod binds.",
      );
    return sentence(listText(point.answers.map(({plugin, code}) => gettext("{plugin} says {code}", {plugin, code}))));
  },
  prebind: ({volumes}) => {
    const {written = [], looks = []} = volumes ?? {};
    const error = written.find((each) => each.error)?.error ?? looks.find((each) => each.error)?.error;
    if (error) return gettext("PreBind fails: {error}", {error});
    if (written.length === 0) return gettext("Nothing has to be written before the pod is bound.");
    if (!looks.some((each) => each.is_bound))
      return gettext("The volumes are written. PreBind looks once a second whether they are bound.");
    return gettext("The volumes are written. PreBind looks once a second, and learns by a look that they are bound.");
  },
  bind: ({bind, pod}) =>
    bind.code === "Success"
      ? gettext("One write to pods/{name}/binding. When the watch brings it back, the assumption becomes a fact.", {
          name: parseId(`pod/${pod}`).name,
        })
      : gettext("The write fails: {reasons}.", {reasons: listText(bind.reasons) || bind.code}),
};

const TIES = {
  random: (node) => gettext("The draw of the run's seed takes {node}.", {node}),
  turn: (node) => gettext("They are taken in turn; it is the turn of {node}.", {node}),
  name: (node) => gettext("{node} is the first by name.", {node}),
};

/** Why no node fits: "None of 12 nodes fits: 9 say “Insufficient cpu”, …". */
export function blockerOf(search) {
  const reasons = groupsOf(search)
    .slice(0, 3)
    .map((group) => `${count(group.many)} × ${listText(group.reasons) || group.plugin}`);
  return sentences([
    ngettext("None of {count} node fits: {reasons}.", "None of {count} nodes fits: {reasons}.", search.nodes.length, {
      reasons: clauses(reasons),
    }),
    search.absent > 0 &&
      ngettext("{count} node was left out by PreFilter.", "{count} nodes were left out by PreFilter.", search.absent),
  ]);
}

function sentence(words) {
  return gettext("{words}.", {words});
}

/** How long a band took, as the engine tells it: "serial · 162 ms". */
export function bandWords(band, {began, ended}) {
  const kind = band === "binding" ? gettext("async") : gettext("serial");
  return began === null || ended === null || ended === began ? kind : `${kind} · ${duration(ended - began)}`;
}

/** The whole cycle in a sentence. */
export function cycleWords(answer) {
  const {bind, queue} = answer;
  if (bind?.code === "Success") return gettext("bound to {node}", {node: bind.node});
  if (queue.requeued) return gettext("back to {place}", {place: PLACES[queue.requeued.place] ?? queue.requeued.place});
  return answer.assume
    ? gettext("assumed on {node}", {node: answer.assume.assumed.node})
    : hasBindQueue(answer)
      ? gettext("in a round")
      : gettext("in progress");
}

const PLACES = {active: "activeQ", backoff: "backoffQ", unschedulable: gettext("unschedulable pods")};

/** Where the pod went after a failure, and why. */
export function requeuedWords({place, judged_by: judge, missed, pod_scheduling_cycle: own, move_request_cycle: moved}) {
  const where = PLACES[place] ?? place;
  if (judge === "moveRequestCycle") {
    const holds = moved >= own;
    // An error sends the pod there whatever the counters say.
    if (holds === (place === "unschedulable")) return gettext("It goes to {where}.", {where});
    return gettext("It goes to {where}: moveRequestCycle {moved} {holds} schedulingCycle {own}.", {
      where,
      moved,
      holds: holds ? "≥" : "<",
      own,
    });
  }
  if (missed.length === 0 && place !== "unschedulable") return gettext("It goes to {where}.", {where});
  if (missed.length === 0) return gettext("It goes to {where}: no event came while it was in flight.", {where});
  return ngettext(
    "It goes to {where}: {count} event came while it was in flight.",
    "It goes to {where}: {count} events came while it was in flight.",
    missed.length,
    {where},
  );
}

/** How a backoff came about. */
export function backoffWords({failures, initial, maximum, duration: length, ends, over_at: over}) {
  const facts = {initial: duration(initial), length: duration(length), end: timeText(ends)};
  return sentences([
    failures > 1
      ? ngettext(
          "Backoff: {initial}, doubled {count} time, at most {maximum}: {length}, until {end}.",
          "Backoff: {initial}, doubled {count} times, at most {maximum}: {length}, until {end}.",
          failures - 1,
          {...facts, maximum: duration(maximum)},
        )
      : gettext("Backoff: {initial}: {length}, until {end}.", facts),
    over > ends && gettext("It may be tried from {time} on.", {time: timeText(over)}),
  ]);
}
