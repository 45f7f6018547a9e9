/**
 * What stands beside a step: blocks of facts in order. A block is one of
 *
 * - {kind: "figure", number, text, family}
 * - {kind: "terms", rows: [{label, value, look}]}; the look is "", "sum", "bad", "gone" or "changed"
 * - {kind: "answers", title, rows: [{name, what, text}]}; `what` is "keep", "ok", "stop", "skip", "never" or "ahead"
 * - {kind: "formulas", nodes: [{node, lines: [[text, value]]}]}
 * - {kind: "totals", nodes, rows: [{plugin, weight, look, cells: [[text, value]]}], sums}
 * - {kind: "writes", rows: [{name, field, by, at, look}]}
 * - {kind: "note", text}
 */
import {gettext, listText, ngettext, sentences} from "../../lib/words.js";
import {linesOf} from "../inside/cycle_score.js";
import {rowsOf} from "../inside/cycle_filter.js";
import {bytes, count, timeText} from "../shared/format.js";
import {bindingFacts} from "./binding_facts.js";
import {figure, note, terms} from "./blocks.js";
import {claimFacts} from "./claim_facts.js";
import {podName, upTo} from "./words.js";

/** The code of a Status. */
const SKIP = "Skip";
const SHORT_LOOK = "sum bad";
/** The nodes of which a step of Score shows the arithmetic. */
const SHOWN_NODES = 3;

/**
 * The blocks of a step, after its sentence.
 *
 * @param {import("./film.js").Film} film
 */
export function factsOf(film, step, picture) {
  if (film.kind === "claim") return claimFacts(film, step, picture);
  const found = FACTS[step.phase]?.(film.answer, step, picture, film) ?? bindingFacts(film, step, picture);
  return found.filter(Boolean);
}

const FACTS = {
  pop: popFacts,
  snapshot: snapshotFacts,
  order: orderFacts,
  prefilter: prefilterFacts,
  filter: filterFacts,
  postfilter: postFilterFacts,
  dryrun: dryRunFacts,
  ladder: ladderFacts,
  prescore: ({score}) => [
    figure(`${score.plugins.length} × ${score.nodes.length}`, gettext("scores to compute")),
    {
      kind: "answers",
      title: "",
      rows: [
        ...score.plugins.map(({plugin, weight}) => ({name: plugin, what: "keep", text: `× ${weight}`})),
        ...score.not_scored.map((plugin) => ({name: plugin, what: "skip", text: SKIP})),
      ],
    },
  ],
  score: scoreFacts,
  normalize: normalizeFacts,
  sum: sumFacts,
  host: hostFacts,
};

function popFacts({pop, cycle}, {isBefore}) {
  const early = pop.backed_off_until !== null && pop.event !== "Pop" ? pop.backed_off_until : null;
  if (!isBefore)
    return [
      terms([
        [gettext("attempt"), count(pop.attempt)],
        ["schedulingCycle", `${count(cycle - 1)} → ${count(cycle)}`, "changed"],
        [gettext("a failure is judged by"), pop.judged_by],
      ]),
      note(gettext("From Pop to Done the queue keeps every event that might concern this pod.")),
    ];
  return [
    terms([
      [gettext("priority"), count(pop.priority), "changed"],
      [gettext("queued since"), timeText(pop.timestamp)],
      [gettext("pods behind it in activeQ"), count(pop.active.length)],
      early !== null && [gettext("its backoff would end at"), timeText(early)],
    ]),
    note(gettext("activeQ is a heap: the highest priority first, then the longest wait.")),
  ];
}

function snapshotFacts({snapshot}) {
  const {copied, stopped_at: stop, kept} = snapshot.taken;
  const why = (node) => snapshot.changes.findLast((each) => each.node === node);
  const rows = copied.slice(0, 8).map(({node, generation}) => {
    const change = why(node);
    const cause = change ? [change.why, change.pod && podName(change.pod)].filter(Boolean).join(" ") : "";
    return [
      listText([node, ...(cause ? [cause] : [])]),
      gettext("generation {generation}", {generation: count(generation)}),
      "changed",
    ];
  });
  return [
    terms([
      ...rows,
      copied.length > 8 && [gettext("and more nodes"), count(copied.length - 8)],
      stop && [
        gettext("{node} is not newer: the walk stops", {node: stop.node}),
        `${count(stop.generation)} ≤ ${count(snapshot.taken.before)}`,
      ],
      [gettext("kept as they are"), count(kept), "sum"],
    ]),
    note(
      gettext(
        "The cache lists its nodes by generation, the newest first. The cost grows with what changed, not with the cluster.",
      ),
    ),
  ];
}

function orderFacts({order: {searched, tree}}) {
  return [
    terms([
      [gettext("zones in the node tree"), count(tree.zones.length)],
      [gettext("starts at index"), count(searched.start)],
      [
        gettext("nodes to find"),
        gettext("{wanted} of {all}", {
          wanted: count(Math.min(searched.wanted, searched.order.length)),
          all: count(searched.order.length),
        }),
        "sum",
      ],
    ]),
    note(
      tree.zones.length > 1
        ? gettext(
            "The list takes one node of each zone in turn. 16 goroutines share it, so the true order within a cycle may differ: the film takes them by index.",
          )
        : gettext(
            "16 goroutines share the list, so the true order within a cycle may differ: the film takes the nodes by index.",
          ),
    ),
  ];
}

const WAYS = {
  "goes on": ["keep", gettext("goes on")],
  skip: ["skip", "Skip"],
  refuses: ["stop", gettext("refuses")],
  fails: ["stop", gettext("fails")],
};

function prefilterFacts({pre_filter: answers}, {plugin}) {
  const skips = answers.filter(({way}) => way === "skip").length;
  return [
    {
      kind: "answers",
      title: "",
      rows: answers.map((each, place) => {
        const [what, text] = place > plugin ? ["ahead", ""] : WAYS[each.way];
        return {name: each.plugin, what, text: what === "keep" ? listText(each.keeps) || text : text};
      }),
    },
    plugin === answers.length - 1 &&
      note(
        ngettext(
          "{count} plugin answers Skip and is not called again for this pod.",
          "{count} plugins answer Skip and are not called again for this pod.",
          skips,
        ),
      ),
  ];
}

function filterFacts(answer, {search: place, from, upto}, {tally}) {
  const search = answer.filter.searches[place];
  if (upto - from > 1) return partFacts(answer, search, upto);
  const row = rowsOf(search)[from];
  const pass = answer.filter.with_nominated.find(({node}) => node === row.node);
  const saved = search.asked.length - row.called;
  const notes = [
    row.refusal &&
      saved > 0 &&
      ngettext(
        "The first refusal ends this node: {count} call is saved.",
        "The first refusal ends this node: {count} calls are saved.",
        saved,
      ),
    pass && passWords(listText(pass.pods.map(podName)), pass.refused_by),
    from === search.nodes.length - 1
      ? gettext("{calls} of {all} calls were made.", {
          calls: count(search.calls),
          all: count(search.calls_at_most),
        })
      : ngettext("{count} call so far.", "{count} calls so far.", tally.calls),
  ];
  return [
    refusalFigure(row),
    sumTerms(row),
    volumeTerms(row),
    {kind: "answers", title: gettext("Filters with work, in order"), rows: callRows(search, row)},
    note(sentences(notes)),
  ];
}

function passWords(pods, plugin) {
  return plugin
    ? gettext("A second pass counts {pods}, nominated to it: {plugin} refuses.", {pods, plugin})
    : gettext("A second pass counts {pods}, nominated to it: it fits.", {pods});
}

function callRows({asked}, {called, refusal}) {
  const stop = refusal ? called - 1 : asked.length;
  const what = (place) => (place < stop ? "ok" : place === stop ? "stop" : "never");
  return asked.map((plugin, place) => ({
    name: plugin,
    number: place + 1,
    what: what(place),
    text: ANSWERED[what(place)],
  }));
}

const ANSWERED = {ok: gettext("passes"), stop: gettext("refuses"), never: gettext("not called")};

function refusalFigure({refusal, text, short, unit}) {
  if (!refusal) return figure(gettext("fits"), gettext("passes every filter"), "settled");
  if (short) return figure(amountOf(unit, short), gettext("{unit} short", {unit}), "stuck");
  return figure(gettext("no"), text || listText(refusal.reasons), "stuck");
}

/** The arithmetic of a refusal for lack of a resource. */
function sumTerms({refusal, unit, numbers}) {
  const of = numbers?.[unit];
  if (!refusal) return null;
  if (of?.allocatable === undefined || of.used === undefined)
    return terms(refusal.reasons.map((reason) => [gettext("reason"), reason, "bad"]));
  return terms([
    [gettext("allocatable {unit}", {unit}), amountOf(unit, of.allocatable)],
    [gettext("requested by the pods there"), `− ${amountOf(unit, of.used)}`],
    [gettext("free"), amountOf(unit, of.allocatable - of.used), "sum"],
    [gettext("the pod asks"), `− ${amountOf(unit, of.requested)}`],
    [gettext("short"), amountOf(unit, of.requested - (of.allocatable - of.used)), SHORT_LOOK],
  ]);
}

/** The volume that each claim would get on the node. */
function volumeTerms({volumes}) {
  const bind = Object.entries(volumes?.bind ?? {});
  return terms([
    ...bind.map(([claim, volume]) => [podName(claim), volume]),
    ...Object.keys(volumes?.provision ?? {}).map((claim) => [podName(claim), gettext("would be provisioned")]),
  ]);
}

function amountOf(resource, value) {
  if (resource === "cpu") return `${value}m`;
  return resource === "memory" || resource === "ephemeral-storage" ? bytes(value) : count(value);
}

function partFacts({order}, search, upto) {
  const fits = search.nodes.slice(0, upto).filter(({refusal}) => refusal < 0).length;
  const wanted = Math.min(order.searched.wanted, order.searched.order.length);
  const isLast = upto === search.nodes.length;
  return [
    figure(
      gettext("{fits} of {wanted}", {fits: count(fits), wanted: count(wanted)}),
      gettext("nodes that fit are found"),
      isLast ? "settled" : "working",
    ),
    terms([
      [gettext("looked at"), count(upto)],
      [gettext("fit"), count(fits)],
      [gettext("refused"), count(upto - fits)],
      [gettext("not looked at"), count(order.searched.order.length - upto), "sum"],
    ]),
    note(
      gettext(
        "Here a step is a part of the search, not a node. Pick a reason at the left to see its nodes in the strips.",
      ),
    ),
  ];
}

function postFilterFacts({post_filter: {ordered, outcome}}) {
  const hopeless = outcome.hopeless.map(({reasons, nodes}) => [
    listText(reasons),
    ngettext("{count} node", "{count} nodes", nodes.length),
    "gone",
  ]);
  return [
    figure(count(ordered?.nodes.length ?? 0), gettext("nodes may be helped by evictions")),
    terms([
      ...hopeless,
      ordered && ordered.offset !== null && [gettext("the dry runs begin at a drawn offset"), count(ordered.offset)],
      ordered && [gettext("candidates wanted"), count(ordered.wanted), "sum"],
    ]),
    note(gettext("PostFilter runs only because no node passed Filter.")),
  ];
}

function dryRunFacts({post_filter: found}, {run}) {
  const {asked, refused} = found.dry_runs[run];
  if (refused.length > 0) return [terms(refused.map((reason) => [gettext("even without its pods"), reason, "bad"]))];
  const victims = asked.filter(({reprieved}) => !reprieved);
  return [
    figure(count(victims.length), ngettext("victim", "victims", victims.length), "stuck"),
    terms([
      [gettext("pods of lower priority"), ngettext("all {count} taken out", "all {count} taken out", asked.length)],
      ...asked.map(({pod, priority, reprieved, violates, reasons}) => [
        listText([
          podName(pod),
          gettext("priority {priority}", {priority: count(priority)}),
          ...(violates ? [gettext("breaks a budget")] : []),
        ]),
        reprieved ? gettext("gets its place back") : listText(reasons) || gettext("has to go"),
        reprieved ? "" : "bad",
      ]),
    ]),
    run === 0 && note(gettext("The most important is asked first. Each gets its place back if the pod still fits.")),
  ];
}

function ladderFacts({post_filter: {outcome}}, {rung}) {
  const before = (place) => (place === 0 ? outcome.candidates.length : outcome.rungs[place - 1].left.length);
  const {left} = outcome.rungs[rung];
  return [
    figure(
      count(left.length),
      left.length === 1
        ? gettext("node is left")
        : ngettext("of {count} node are left", "of {count} nodes are left", before(rung)),
    ),
    terms(
      outcome.rungs
        .slice(0, rung + 1)
        .map((each, place) => [
          `${place + 1}  ${each.rung}`,
          `${count(before(place))} → ${count(each.left.length)}`,
          place === rung ? "changed" : "",
        ]),
    ),
    note(
      outcome.rungs[rung].rung === "smallest priority sum"
        ? gettext("Each priority is raised by 2³¹ before it is added, so that more victims always cost more.")
        : gettext("A rung keeps the nodes that are best in it. The next one is asked only while several are left."),
    ),
  ];
}

/** The nodes whose arithmetic is shown: those with the highest totals, the taken one among them. */
function shownNodes({score, host}) {
  const taken = score.nodes.filter(({node}) => node === host?.node);
  const others = score.nodes.filter(({node}) => node !== host?.node).toSorted((one, other) => other.total - one.total);
  return [...taken, ...others].slice(0, SHOWN_NODES);
}

function scoreFacts(answer, {plugin}) {
  const {score} = answer;
  const {normalizes} = score.plugins[plugin];
  const raw = {...score.plugins[plugin], normalizes: ""};
  const nodes = shownNodes(answer).map(({node, scores}) => ({
    node,
    lines: [...linesOf(scores[plugin], raw).slice(0, -1), [gettext("raw score"), count(scores[plugin].raw)]],
  }));
  return [
    {kind: "formulas", nodes},
    note(
      normalizes
        ? gettext("A raw score of this plugin can be compared only after it is normalised.")
        : gettext("Each division drops its remainder, as Go does with integers."),
    ),
  ];
}

function normalizeFacts({score}) {
  return [
    terms(
      score.plugins.map(({plugin, normalizes, lowest, highest}) => [
        plugin,
        normalizes
          ? gettext("{normalizes}, raw {lowest} to {highest}", {
              normalizes,
              lowest: count(lowest),
              highest: count(highest),
            })
          : gettext("raw scores stay"),
        normalizes ? "changed" : "gone",
      ]),
    ),
  ];
}

function sumFacts(answer, {plugin}) {
  const nodes = shownNodes(answer);
  const rows = answer.score.plugins.map(({plugin: name, weight}, place) => ({
    plugin: name,
    look: place > plugin ? "ahead" : place === plugin ? "now" : "",
    cells: nodes.map(({scores}) =>
      place > plugin ? null : [`${scores[place].normalized}×${weight}`, count(scores[place].weighted)],
    ),
  }));
  const sums = nodes.map((node) => count(upTo(node, plugin)));
  const others = answer.score.nodes.length - nodes.length;
  return [
    {kind: "totals", nodes: nodes.map(({node}) => node), rows, sums},
    others > 0 &&
      note(
        ngettext(
          "{count} more node is scored in the same way.",
          "{count} more nodes are scored in the same way.",
          others,
        ),
      ),
  ];
}

function hostFacts({host, score}, {isDrawn}) {
  const best = host.tied.map((node, place) => [
    node,
    !isDrawn ? count(host.total) : place === host.drawn ? gettext("taken") : gettext("out"),
    isDrawn && place !== host.drawn ? "gone" : isDrawn ? "changed" : "",
  ]);
  const lower = (score?.is_compared ? score.nodes : []).filter(({node}) => !host.tied.includes(node));
  const next = lower.toSorted((one, other) => other.total - one.total)[0];
  return [
    host.tied.length > 1 &&
      figure(
        isDrawn ? gettext("1 in {all}", {all: host.tied.length}) : count(host.tied.length),
        isDrawn ? gettext("was the chance of each") : gettext("nodes have the highest total"),
      ),
    terms([
      ...best.slice(0, 12),
      !isDrawn && next && [gettext("{node}, the next best", {node: next.node}), count(next.total), "gone"],
    ]),
    host.tied.length > 1 &&
      note(
        gettext(
          "A draw decides the tie: neither the first name nor the emptier node is preferred. It comes from the run's seed, so it can be repeated.",
        ),
      ),
  ];
}
