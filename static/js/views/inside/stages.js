import {html} from "../../lib/html.js";
import {clauses, gettext, labelled, listText, ngettext} from "../../lib/words.js";
import {nextStart} from "../../model/inside/cycle_memory.js";
import {pointOf, zoneName} from "../../model/inside/cycle_words.js";
import {otherNode} from "../../model/inside/what_if.js";
import {count, duration, parseId, timeText} from "../../model/shared/format.js";
import {NO_FORK} from "../../model/shared/rights.js";
import {PodLink} from "../shared/links.js";
import {Mark} from "../shared/mark.js";
import {AssumeStage, BindQueueStage, BindStage, PreBindStage} from "./stage_binding.js";
import {FilterStage, PostFilterStage} from "./stage_filter.js";
import {Note, Rule} from "./stage_parts.js";
import {ScoreStage} from "./stage_score.js";

const STAGES = {
  pop: PopStage,
  snapshot: SnapshotStage,
  order: OrderStage,
  prefilter: PreFilterStage,
  filter: FilterStage,
  postfilter: PostFilterStage,
  score: ScoreStage,
  host: HostStage,
  bindqueue: BindQueueStage,
  assume: AssumeStage,
  permit: PermitStage,
  prebind: PreBindStage,
  bind: BindStage,
};
/** Steps that tell something also where the cycle passed them by. */
const TELLS_ALWAYS = ["postfilter", "permit"];
/** Score also where it has nothing to compare: another amount may have. */
const TELLS_IDLE = "score";

/** The picture and the numbers of one step. */
export function StepStage({session, cycle, answer, step}) {
  const tells = TELLS_ALWAYS.includes(step.id) || (step.id === TELLS_IDLE && step.state === "idle");
  if (step.state !== "done" && !tells) {
    return html`<div class="notreached"><p>${step.state === "idle" ? gettext("There was nothing to do here.") : gettext("The cycle did not come to this step.")}</p></div>`;
  }
  const Part = STAGES[step.id];
  return html`<${Part} session=${session} cycle=${cycle} answer=${answer} step=${step} />`;
}

const QUEUES = [
  ["active", "activeQ", "active", "ready", gettext("by priority, then by arrival")],
  ["backoff", "backoffQ", "backoff", "clock", gettext("by the end of the backoff")],
  ["unschedulable", gettext("unschedulable pods"), "unschedulable", "stuck", gettext("until an event that may help")],
];
const DRAWN_PODS = 8;

function PopStage({session, answer}) {
  const {pop, queue, pod} = answer;
  const from = queue.before.at(-1)?.place ?? "active";
  return html`
    <div class="queues">${QUEUES.map(
      ([place, title, mark, family, order]) => html`
      <div key=${place} class="qlane"><div class="qname"><${Mark} name=${mark} family=${family} /><b>${title}</b><span class="mute">${order}</span></div>
        <div class="qslots">${place === from && html`<span class="qpod went">${parseId(`pod/${pod}`).name}<small>${gettext("priority {priority}", {priority: pop.priority})}</small></span>`}
          ${pop[place].slice(0, DRAWN_PODS).map((each) => html`<span key=${each.pod} class="qpod"><${PodLink} session=${session} podKey=${each.pod} /><small>${waitingWords(each)}</small></span>`)}
          ${pop[place].length > DRAWN_PODS && html`<span class="mute small">${ngettext("and {count} more", "and {count} more", pop[place].length - DRAWN_PODS)}</span>`}
          ${pop[place].length === 0 && place !== from && html`<span class="mute">${gettext("empty")}</span>`}</div></div>`,
    )}</div>
    ${queue.before.length > 0 && html`<${Came} queue=${queue} />`}
    <div class="sechead"><h3>${gettext("Where {name} goes if this cycle fails", {name: parseId(`pod/${pod}`).name})}</h3></div>
    <${Judge} pop=${pop} />`;
}

function waitingWords({priority, backoff_until: until}) {
  return until === null
    ? gettext("priority {priority}", {priority})
    : gettext("priority {priority}, until {until}", {priority, until: timeText(until)});
}

const OUTSIDE = gettext("outside");

/** How the pod came to be popped: its moves since its last attempt, and the events about which plugins were asked. */
function Came({queue: {before, considered}}) {
  const moves = before.map(({event, place_from: from, place}) =>
    labelled(event, `${from || OUTSIDE} → ${place || OUTSIDE}`),
  );
  return html`
    <p class="small soft after">${gettext("How it came here: {moves}.", {moves: clauses(moves)})}</p>
    ${
      considered.length > 0 &&
      html`<table class="tbl"><thead><tr><th>${gettext("Event while it waited")}</th><th>${gettext("Plugins asked for a hint")}</th><th>${gettext("Worth a new attempt")}</th></tr></thead>
        <tbody>${considered.slice(-DRAWN_PODS).map(
          ({event, asked, strategy}, place) => html`
          <tr key=${place}><th scope="row">${event}</th><td>${listText(asked.map(({plugin, queues}) => labelled(plugin, queues ? "Queue" : "QueueSkip"))) || gettext("none")}</td><td>${STRATEGIES[strategy] ?? strategy}</td></tr>`,
        )}</tbody></table>`
    }`;
}

const STRATEGIES = {SKIP: gettext("no"), AFTER_BACKOFF: gettext("after its backoff"), IMMEDIATELY: gettext("at once")};

function Judge({pop: {judged_by: judge, move_request_cycle: moved, scheduling_cycle: own, in_flight: flying}}) {
  if (judge === "moveRequestCycle") {
    return html`
      <div class="counters">
        <div class="counter"><span>moveRequestCycle</span><b>${moved}</b><small>${gettext("the cycle when pods were last moved by an event")}</small></div>
        <div class="versus">${moved >= own ? "≥" : "<"}</div>
        <div class="counter"><span>${gettext("schedulingCycle of this attempt")}</span><b>${own}</b><small>${gettext("the number of pods popped so far")}</small></div>
        <div class="then"><${Place} mark="unschedulable" family="stuck">${gettext("unschedulable")}<//><small>${gettext("while it is smaller: nothing happened that the pod may have missed")}</small>
          <${Place} mark="backoff" family="clock">${gettext("backoff")}<//><small>${gettext("if an event moves pods before the cycle ends")}</small></div></div>`;
  }
  return html`
    <div class="counters">
      <div class="counter"><span>${gettext("pods in flight")}</span><b>${flying.length}</b><small>${gettext("inFlightEvents are kept for them, from Pop to Done")}</small></div>
      <div class="versus">?</div>
      <div class="counter"><span>${gettext("events since it went in flight")}</span><b>0</b><small>${gettext("each plugin that rejects the pod gives a hint for each")}</small></div>
      <div class="then"><${Place} mark="unschedulable" family="stuck">${gettext("unschedulable")}<//><small>${gettext("no event for which a hint says Queue")}</small>
        <${Place} mark="backoff" family="clock">${gettext("backoff")}<//><small>${gettext("one event and one hint Queue are enough")}</small></div></div>`;
}

function Place({mark, family, children}) {
  return html`<span class="state"><${Mark} name=${mark} family=${family} />${children}</span>`;
}

const DRAWN_ENTRIES = 30;
/** @type {Record<string, (pod: string) => string>} */
const CHANGES = {
  node: () => gettext("the node changed"),
  "node removed": () => gettext("the node was removed"),
  "pod added": (pod) => gettext("{pod} added", {pod}),
  "pod removed": (pod) => gettext("{pod} removed", {pod}),
  "pod replaced": (pod) => gettext("{pod} updated", {pod}),
};

function SnapshotStage({answer}) {
  const {taken, changes} = answer.snapshot;
  const shown = taken.copied.slice(0, DRAWN_ENTRIES);
  const left = taken.copied.length - shown.length;
  const kept = taken.kept - (taken.stopped_at ? 1 : 0);
  return html`
    <div class="sechead"><h3>${gettext("The cache, the newest change first")}</h3><span class="note">${gettext("each change of a node gives its entry the next generation")}</span></div>
    <ol class="gens">${shown.map(
      ({node, generation, pods, is_ghost: isGhost}) => html`
      <li key=${node} class="copied"><b class="mono">${node}</b><span class="g num">${generation}</span><small>${listText([ngettext("copied, {count} pod", "copied, {count} pods", pods), ...(isGhost ? [gettext("its node is gone")] : [])])}</small>
        ${whyChanged(changes, node).map((why) => html`<small key=${why} class="why">${why}</small>`)}</li>`,
    )}
      ${left > 0 && html`<li class="copied"><b>${gettext("{number} more", {number: count(left)})}</b><small>${gettext("copied")}</small></li>`}
      ${taken.stopped_at && html`<li class="halt"><b class="mono">${taken.stopped_at.node}</b><span class="g num">${taken.stopped_at.generation}</span><small>${gettext("≤ {generation}: the walk stops", {generation: taken.before})}</small></li>`}
      ${kept > 0 && html`<li class="kept"><b>${ngettext("{count} more node", "{count} more nodes", kept)}</b><small>${gettext("kept, not looked at")}</small></li>`}</ol>
    <${Rule} facts=${[
      [gettext("snapshot before"), taken.before],
      [gettext("copied while generation is above"), taken.before],
      [gettext("first that is not"), taken.stopped_at?.generation ?? gettext("none")],
      [gettext("snapshot now"), taken.after],
    ]} />
    <${Note}>${gettext("The cost grows with what changed, not with the size of the cluster.")}<//>`;
}

function whyChanged(changes, node) {
  const words = changes
    .filter((each) => each.node === node)
    .map(({why, pod}) => CHANGES[why](parseId(`pod/${pod}`).name));
  return [...new Set(words)].slice(-2);
}

const DRAWN_NODES = 40;
const COLUMN = 168;
const LINE = 52;

function OrderStage({answer}) {
  const {tree, searched} = answer.order;
  const next = nextStart(answer);
  return html`
    <div class="sechead"><h3>${gettext("The node tree")}</h3><span class="note">${gettext("zones in the order in which their first node came; within a zone, nodes in the order in which they came")}</span></div>
    ${searched.order.length > DRAWN_NODES ? html`<${LongOrder} searched=${searched} />` : html`<${Tree} tree=${tree} order=${searched.order} />`}
    <${Rule} facts=${[
      [gettext("zones"), tree.zones.length],
      [gettext("begins at index"), searched.start],
      [
        gettext("ends after so many that fit"),
        gettext("{wanted} of {all}", {wanted: count(searched.wanted), all: count(searched.order.length)}),
      ],
      ...(next === null || answer.version === "v1.11" ? [] : [[gettext("the next search begins at"), next]]),
    ]} />
    ${searched.wanted >= searched.order.length && html`<${Note}>${gettext("All nodes are looked at: a cluster of up to 100 nodes is always searched whole.")}<//>`}`;
}

/** Zones as columns, the round as one line, numbered, the start filled. */
function Tree({tree: {zones}, order}) {
  const high = Math.max(...zones.map(({nodes}) => nodes.length));
  const at = new Map(
    zones.flatMap(({nodes}, column) => nodes.map((node, row) => [node, [70 + column * COLUMN, 44 + row * LINE]])),
  );
  const places = order.map((node) => at.get(node)).filter(Boolean);
  const [wide, tall] = [zones.length * COLUMN - 20, 24 + high * LINE];
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label=${gettext("Node tree")}><svg class="tree" data-picture=${gettext("Node tree")} style=${`width:${wide}px`} viewBox=${`0 0 ${wide} ${tall}`} role="img" aria-label=${gettext("Nodes are looked at in this order: {order}", {order: listText(order)})}>
      ${zones.map(
        (
          {zone, nodes},
          column,
        ) => html`<g key=${zone}><text x=${70 + column * COLUMN} y="14" class="zone">${zoneName(zone) || gettext("no zone")}</text>
        <line x1=${70 + column * COLUMN} x2=${70 + column * COLUMN} y1="22" y2=${44 + (nodes.length - 1) * LINE} class="limb" /></g>`,
      )}
      <path d=${places.map((place, each) => `${each ? "L" : "M"}${place.join(" ")}`).join("")} class="round" />
      ${order.map((node, turn) => {
        const place = at.get(node);
        if (!place) return null;
        const [x, y] = place;
        return html`<g key=${node} class=${turn === 0 ? "first" : ""}><rect x=${x - 66} y=${y - 17} width="132" height="34" rx="6" /><circle cx=${x - 48} cy=${y} r="10" />
          <text x=${x - 48} y=${y + 4} class="n">${turn}</text><text x=${x - 32} y=${y + 4} class="name">${node.length > 13 ? `${node.slice(0, 6)}…${node.slice(-6)}` : node}<title>${node}</title></text></g>`;
      })}</svg></div>`;
}

/** The first nodes of a search, and where the list begins again. */
function LongOrder({searched: {order, start}}) {
  const wraps = order.length - start;
  return html`<ol class="longorder">${order.slice(0, DRAWN_NODES).map((node, turn) => html`<li key=${node} class=${turn === 0 ? "first" : ""}><span class="num">${turn}</span> <span class="mono cut" title=${node}>${node}</span></li>`)}</ol>
    <p class="small mute after">${clauses([ngettext("and {count} more", "and {count} more", order.length - DRAWN_NODES), start > 0 && ngettext("after {count} node the list begins again", "after {count} nodes the list begins again", wraps)])}</p>`;
}

const MOST_FORKS = 3;

const WAYS = {
  "goes on": ["ok", "settled", gettext("goes on")],
  skip: ["gated", "held", "Skip"],
  refuses: ["no", "stuck", gettext("refuses")],
  fails: ["no", "stuck", gettext("fails")],
};

function PreFilterStage({answer}) {
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label=${gettext("Answers of the plugins")}><table class="tbl pre"><thead><tr><th scope="col">${gettext("Plugin, in order")}</th><th scope="col">${gettext("Answer")}</th><th scope="col">${gettext("What it keeps for this cycle")}</th></tr></thead>
      <tbody>${answer.pre_filter.map(({plugin, way, reasons, nodes, keeps}) => {
        const [mark, family, words] = WAYS[way];
        return html`<tr key=${plugin} class=${way === "skip" ? "mute" : ""}><th scope="row">${plugin}</th>
          <td><span class=${`state f-${family}`}><${Mark} name=${mark} family=${family} />${words}</span></td>
          <td>${clauses([...reasons, ...keeps, ...(nodes === null ? [] : [ngettext("leaves {count} node", "leaves {count} nodes", nodes)])])}</td></tr>`;
      })}</tbody></table></div>
    <${Note}>${gettext("Plugins without a PreFilter are not in the list. One that answers Skip is not called again for this pod.")}<//>`;
}

function HostStage({session, answer}) {
  const {host, score, pod, fork_seq: seq} = answer;
  const others = host.tied.filter((node) => node !== host.node).slice(0, MOST_FORKS);
  const rest = score.nodes
    .filter(({node}) => !host.tied.includes(node))
    .toSorted((one, other) => other.total - one.total)
    .slice(0, 2);
  return html`
    <div class="tie">${host.tied
      .slice(0, 6)
      .map(
        (node) =>
          html`<div key=${node} class=${node === host.node ? "won" : ""}><b>${node}</b><span class="num">${count(host.total)}</span><small>${node === host.node ? gettext("taken") : gettext("the same score")}</small></div>`,
      )}
      ${score.is_compared && rest.map(({node, total}) => html`<div key=${node} class="lost"><b>${node}</b><span class="num">${count(total)}</span><small>${gettext("{total} less", {total: count(host.total - total)})}</small></div>`)}</div>
    ${
      others.length > 0 &&
      seq !== null &&
      html`<p class="does after">${others.map((node) => html`<${ForkWith} key=${node} session=${session} pod=${pod} node=${node} seq=${seq} />`)}</p>`
    }
    ${host.tied.length > 1 && host.way === "random" && html`<${Note}>${gettext("The scheduler keeps the first of the best, and replaces it by the k-th with probability 1/k. The draw comes from the run's seed, so the run can be repeated.")}<//>`}`;
}

/** A fork before the cycle in which the pod is bound to another one of the tied nodes. */
function ForkWith({session, pod, node, seq}) {
  const way = otherNode(pod, node);
  return html`<button class="btn" type="button" disabled=${!session.mayFork} title=${session.mayFork ? gettext("Fork after event {seq} and bind the pod to {node} there", {seq: count(seq), node}) : NO_FORK}
    onClick=${() => session.commands.tryInFork(way.id, way.commands, seq, way.trial)}>${gettext("Fork with {node}", {node})}</button>`;
}

function PermitStage({answer}) {
  const point = pointOf(answer, "Permit");
  const facts = [[gettext("assumed at"), timeText(answer.phases.find(({name}) => name === "assume").at)]];
  if (!point) {
    return html`<div class="notreached ok"><p>${gettext("No Permit plugin had anything to say.")}</p><span class="mute small">${gettext("A gang would wait here, and the pod would stay assumed.")}</span></div><${Rule} facts=${facts} />`;
  }
  return html`
    <table class="tbl"><thead><tr><th scope="col">${gettext("Plugin")}</th><th scope="col">${gettext("Answer")}</th><th scope="col">${gettext("Waits at most")}</th></tr></thead>
      <tbody>${point.answers.map(({plugin, code, reasons, timeout}) => html`<tr key=${plugin}><th scope="row">${plugin}</th><td>${labelled(code, listText(reasons))}</td><td>${timeout === null ? "–" : duration(timeout)}</td></tr>`)}</tbody></table>
    <${Rule} facts=${facts} />`;
}
