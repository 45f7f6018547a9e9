import {html} from "../../lib/html.js";
import {clauses, gettext, labelled, listText, ngettext, sentences} from "../../lib/words.js";
import {MOST_ROWS, fittingOf, groupsOf, rowsOf, whyOf} from "../../model/inside/cycle_filter.js";
import {backoffWords, requeuedWords} from "../../model/inside/cycle_words.js";
import {count, parseId, timeText} from "../../model/shared/format.js";
import {broken} from "../pods/matrix.js";
import {Preemption} from "../pods/preemption.js";
import {Icon} from "../shared/mark.js";
import {Note, Rule} from "./stage_parts.js";

/** One line per node that runs until a filter cuts it. */
export function FilterStage({answer}) {
  const {searches, with_nominated: passes} = answer.filter;
  return html`
    ${searches.map((search, place) => html`<${Search} key=${place} search=${search} isOnly=${searches.length === 1} />`)}
    ${
      passes.length > 0 &&
      html`<div class="sechead"><h3>${gettext("With nominated pods put on the node")}</h3></div>
      <ul class="small">${passes.map(({node, pods, refused_by: plugin}) => html`<li key=${node}>${passWords(html`<b class="mono">${node}</b>`, listText(pods), plugin)}</li>`)}</ul>`
    }
    ${answer.post_filter === null && html`<${Requeued} answer=${answer} />`}`;
}

function passWords(node, pods, plugin) {
  return plugin
    ? gettext("{node} with {pods}: {plugin} refuses it", {node, pods, plugin})
    : gettext("{node} with {pods}: fits", {node, pods});
}

function Search({search, isOnly}) {
  const fitting = fittingOf(search);
  const looked = search.nodes.length;
  return html`
    ${!isOnly && html`<div class="sechead"><h3>${search.search === "all nodes" ? gettext("All nodes") : gettext("The nominated node first")}</h3></div>`}
    ${looked > MOST_ROWS ? html`<${Grouped} search=${search} />` : html`<${Passes} search=${search} />`}
    <${Rule} facts=${[
      [gettext("plugins with work"), search.asked.length],
      [gettext("calls if every node were checked by all"), count(search.calls_at_most)],
      [gettext("saved by stopping at the first refusal"), count(search.calls_at_most - search.calls)],
      ...(search.absent > 0 ? [[gettext("left out by PreFilter"), count(search.absent)]] : []),
      ...(search.unseen > 0 ? [[gettext("not looked at"), count(search.unseen)]] : []),
      [gettext("pass"), gettext("{fitting} of {looked}", {fitting: count(fitting), looked: count(looked)})],
    ]} />
    ${search.skipped.length > 0 && html`<${Note}>${gettext("Left out after Skip at PreFilter: {skipped}.", {skipped: listText(search.skipped)})}<//>`}`;
}

function Passes({search}) {
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label=${gettext("Filters by node")}><table class="tbl passes">
      <thead><tr><th scope="col" class="i">#</th><th scope="col">${gettext("Node")}</th>${search.asked.map((plugin) => html`<th key=${plugin} scope="col" class="c">${broken(plugin)}</th>`)}<th scope="col" class="why">${gettext("Why it stops")}</th></tr></thead>
      <tbody>${rowsOf(search).map(
        (row) => html`
        <tr key=${row.node} class=${row.refusal ? "" : "fits"}><td class="i num">${row.place}</td><th scope="row" class="mono" title=${row.node}>${row.node}</th>
          ${search.asked.map((plugin, place) => html`<${Call} key=${plugin} row=${row} place=${place} />`)}
          <td class="why"><${Why} row=${row} /></td></tr>`,
      )}</tbody></table></div>
    <${Note}>${gettext("Blank cells were never called.")}<//>`;
}

function Call({row, place}) {
  if (place >= row.called) return html`<td class="c not"><span class="vh">${gettext("not called")}</span></td>`;
  const stops = row.refusal && place === row.called - 1;
  return html`<td class=${`c ${stops ? "stop" : "ran"}`}><${Icon} name=${stops ? "no" : "ok"} /><span class="vh">${stops ? gettext("refuses") : gettext("passes")}</span></td>`;
}

function Why({row}) {
  if (!row.refusal) return html`<b>${gettext("fits")}</b>`;
  const [sum, result] = whyOf(row);
  return html`<span title=${listText(row.refusal.reasons)}>${sum} <b>${result}</b></span>`;
}

/** Many nodes, by the reason that stopped them. */
function Grouped({search}) {
  return html`
    <table class="tbl"><thead><tr><th scope="col">${gettext("Stopped by")}</th><th scope="col" class="right">${gettext("Nodes")}</th><th scope="col">${gettext("Reason")}</th><th scope="col">${gettext("For example")}</th></tr></thead>
      <tbody>${groupsOf(search).map(
        ({plugin, reasons, many: number, example}) => html`
        <tr key=${`${plugin} ${reasons}`}><th scope="row">${plugin}</th><td class="right num">${count(number)}</td><td>${listText(reasons)}</td><td><span class="mono">${example.node}</span> ${example.text}</td></tr>`,
      )}</tbody></table>`;
}

const RUNGS = [
  gettext("fewest PodDisruptionBudget violations"),
  gettext("lowest priority of the most important victim"),
  gettext("smallest sum of the victims' priorities"),
  gettext("fewest victims"),
  gettext("latest start of the most important victim"),
  gettext("the first that is left"),
];

/** What the preemption tried and chose, or what it would do. */
export function PostFilterStage({answer}) {
  const {post_filter: found} = answer;
  if (!found) {
    return html`
      <div class="notreached"><p>${answer.filter ? gettext("At least one node passed Filter.") : gettext("No node was looked at.")}</p></div>
      <div class="sechead"><h3>${gettext("What it would do")}</h3><span class="note">${gettext("each rung drops the nodes that are not best")}</span></div>
      <ol class="rungs">${RUNGS.map((words, place) => html`<li key=${words}><b class="num">${place + 1}</b>${words}</li>`)}</ol>
      <${Requeued} answer=${answer} />`;
  }
  return html`
    <${DryRuns} found=${found} />
    <${Preemption} evidence=${asEvidence(answer)} />
    <${Requeued} answer=${answer} />`;
}

/** A preemption as the evidence of an attempt has it. */
function asEvidence({cycle, pop, post_filter: {outcome}}) {
  const {node, message, rungs} = outcome;
  const candidates = Object.fromEntries(outcome.candidates.map((each) => [each.node, each]));
  const hopeless = Object.fromEntries(
    outcome.hopeless.flatMap(({reasons, nodes}) => nodes.map((each) => [each, reasons])),
  );
  return {cycle, number: pop.attempt, preemption: {node, message, rungs, candidates, hopeless}};
}

const DRAWN_RUNS = 12;
const OUTSIDE = gettext("outside");

/** Node by node: the pods of lower priority are off, and come back one by one while the pod still fits. */
function DryRuns({found: {ordered, dry_runs: runs}}) {
  if (runs.length === 0) return null;
  const offset = ordered?.offset ?? null;
  return html`
    <div class="sechead"><h3>${gettext("Dry runs")}</h3><span class="note">${clauses([listText([ngettext("{count} node", "{count} nodes", runs.length), ...(offset === null ? [] : [gettext("beginning at a drawn offset"), offset])]), gettext("struck pods would have to go")])}</span></div>
    <table class="tbl dryruns"><tbody>${runs.slice(0, DRAWN_RUNS).map(
      ({node, asked, refused}) => html`
      <tr key=${node}><th scope="row" class="mono">${node}</th><td>${listText(refused)}${asked.map(
        ({pod, reprieved, violates, reasons}) => {
          const {name} = parseId(`pod/${pod}`);
          const why = [
            reprieved ? gettext("gets its place back") : gettext("is a victim"),
            violates && gettext("breaks a budget"),
            ...reasons,
          ].filter(Boolean);
          return html`<span key=${pod} class=${reprieved ? "stays" : "goes"} title=${`${pod} ${listText(why)}`}>${reprieved ? name : html`<s>${name}</s>`}</span> `;
        },
      )}</td></tr>`,
    )}</tbody></table>
    ${runs.length > DRAWN_RUNS && html`<p class="micro mute after">${ngettext("and {count} more", "and {count} more", runs.length - DRAWN_RUNS)}</p>`}`;
}

/** Where the pod went when the cycle failed, and its backoff. */
export function Requeued({answer}) {
  const {requeued, after} = answer.queue;
  if (!requeued) return null;
  const {backoff, missed, next_leftover_flush: leftover, rejected_by: by} = requeued;
  return html`
    <div class="sechead"><h3>${gettext("Back to the queue")}</h3></div>
    <p class="small">${sentences([requeuedWords(requeued), backoff && backoffWords(backoff)])}</p>
    ${by.length > 0 && html`<p class="small soft">${gettext("Rejected by {by}: only events that may help one of them wake the pod.", {by: listText(by)})}</p>`}
    ${missed.length > 0 && html`<ul class="small soft">${missed.map(({event, asked, strategy}, place) => html`<li key=${place}>${labelled(event, listText(asked.map(({plugin, queues}) => `${plugin} ${queues ? "Queue" : "QueueSkip"}`)) || gettext("no plugin asked"))} (${strategy})</li>`)}</ul>`}
    ${leftover !== null && html`<p class="micro mute">${gettext("flushUnschedulablePodsLeftover comes next at {leftover}.", {leftover: timeText(leftover)})}</p>`}
    ${
      after.length > 1 &&
      html`<p class="small soft">${gettext("Then: {after}.", {
        after: clauses(after.slice(1).map(({event, place}) => `${event} → ${place || OUTSIDE}`)),
      })}</p>`
    }`;
}
