import {html} from "../../lib/html.js";
import {MOST_ROWS, fittingOf, groupsOf, rowsOf, whyOf} from "../../model/inside/cycle_filter.js";
import {backoffWords, many, requeuedWords} from "../../model/inside/cycle_words.js";
import {count, moment, parseId} from "../../model/shared/format.js";
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
      html`<div class="sechead"><h3>With nominated pods put on the node</h3></div>
      <ul class="small">${passes.map(({node, pods, refused_by: plugin}) => html`<li key=${node}><b class="mono">${node}</b> with ${pods.join(", ")}: ${plugin ? `${plugin} refuses it` : "fits"}</li>`)}</ul>`
    }
    ${answer.post_filter === null && html`<${Requeued} answer=${answer} />`}`;
}

function Search({search, isOnly}) {
  const fitting = fittingOf(search);
  const looked = search.nodes.length;
  return html`
    ${!isOnly && html`<div class="sechead"><h3>${search.search === "all nodes" ? "All nodes" : "The nominated node first"}</h3></div>`}
    ${looked > MOST_ROWS ? html`<${Grouped} search=${search} />` : html`<${Passes} search=${search} />`}
    <${Rule} facts=${[
      ["plugins with work", search.asked.length],
      ["calls if every node were checked by all", count(search.calls_at_most)],
      ["saved by stopping at the first refusal", count(search.calls_at_most - search.calls)],
      ...(search.absent > 0 ? [["left out by PreFilter", count(search.absent)]] : []),
      ...(search.unseen > 0 ? [["not looked at", count(search.unseen)]] : []),
      ["pass", `${count(fitting)} of ${count(looked)}`],
    ]} />
    ${search.skipped.length > 0 && html`<${Note}>Left out after Skip at PreFilter: ${search.skipped.join(", ")}.<//>`}`;
}

function Passes({search}) {
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label="Filters by node"><table class="tbl passes">
      <thead><tr><th scope="col" class="i">#</th><th scope="col">Node</th>${search.asked.map((plugin) => html`<th key=${plugin} scope="col" class="c">${broken(plugin)}</th>`)}<th scope="col" class="why">Why it stops</th></tr></thead>
      <tbody>${rowsOf(search).map(
        (row) => html`
        <tr key=${row.node} class=${row.refusal ? "" : "fits"}><td class="i num">${row.place}</td><th scope="row" class="mono" title=${row.node}>${row.node}</th>
          ${search.asked.map((plugin, place) => html`<${Call} key=${plugin} row=${row} place=${place} />`)}
          <td class="why"><${Why} row=${row} /></td></tr>`,
      )}</tbody></table></div>
    <${Note}>Blank cells were never called.<//>`;
}

function Call({row, place}) {
  if (place >= row.called) return html`<td class="c not"><span class="vh">not called</span></td>`;
  const stops = row.refusal && place === row.called - 1;
  return html`<td class=${`c ${stops ? "stop" : "ran"}`}><${Icon} name=${stops ? "no" : "ok"} /><span class="vh">${stops ? "refuses" : "passes"}</span></td>`;
}

function Why({row}) {
  if (!row.refusal) return html`<b>fits</b>`;
  const [sum, result] = whyOf(row);
  return html`<span title=${row.refusal.reasons.join(", ")}>${sum} <b>${result}</b></span>`;
}

/** Many nodes, by the reason that stopped them. */
function Grouped({search}) {
  return html`
    <table class="tbl"><thead><tr><th scope="col">Stopped by</th><th scope="col" class="right">Nodes</th><th scope="col">Reason</th><th scope="col">For example</th></tr></thead>
      <tbody>${groupsOf(search).map(
        ({plugin, reasons, many: number, example}) => html`
        <tr key=${`${plugin} ${reasons}`}><th scope="row">${plugin}</th><td class="right num">${count(number)}</td><td>${reasons.join(", ")}</td><td><span class="mono">${example.node}</span> ${example.text}</td></tr>`,
      )}</tbody></table>`;
}

const RUNGS = [
  "fewest PodDisruptionBudget violations",
  "lowest priority of the most important victim",
  "smallest sum of the victims' priorities",
  "fewest victims",
  "latest start of the most important victim",
  "the first that is left",
];

/** What the preemption tried and chose, or what it would do. */
export function PostFilterStage({answer}) {
  const {post_filter: found} = answer;
  if (!found) {
    return html`
      <div class="notreached"><p>${answer.filter ? "At least one node passed Filter." : "No node was looked at."}</p></div>
      <div class="sechead"><h3>What it would do</h3><span class="note">each rung drops the nodes that are not best</span></div>
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

/** Node by node: the pods of lower priority are off, and come back one by one while the pod still fits. */
function DryRuns({found: {ordered, dry_runs: runs}}) {
  if (runs.length === 0) return null;
  const from = ordered === null || ordered.offset === null ? "" : `, beginning at a drawn offset, ${ordered.offset}`;
  return html`
    <div class="sechead"><h3>Dry runs</h3><span class="note">${many(runs.length, "node")}${from}; struck pods would have to go</span></div>
    <table class="tbl dryruns"><tbody>${runs.slice(0, DRAWN_RUNS).map(
      ({node, asked, refused}) => html`
      <tr key=${node}><th scope="row" class="mono">${node}</th><td>${refused.join(", ")}${asked.map(
        ({pod, reprieved, violates, reasons}) => {
          const {name} = parseId(`pod/${pod}`);
          const why = [
            reprieved ? "gets its place back" : "is a victim",
            violates && "breaks a budget",
            ...reasons,
          ].filter(Boolean);
          return html`<span key=${pod} class=${reprieved ? "stays" : "goes"} title=${`${pod} ${why.join(", ")}`}>${reprieved ? name : html`<s>${name}</s>`}</span> `;
        },
      )}</td></tr>`,
    )}</tbody></table>
    ${runs.length > DRAWN_RUNS && html`<p class="micro mute after">and ${count(runs.length - DRAWN_RUNS)} more</p>`}`;
}

/** Where the pod went when the cycle failed, and its backoff. */
export function Requeued({answer}) {
  const {requeued, after} = answer.queue;
  if (!requeued) return null;
  const {backoff, missed, next_leftover_flush: leftover, rejected_by: by} = requeued;
  return html`
    <div class="sechead"><h3>Back to the queue</h3></div>
    <p class="small">${requeuedWords(requeued)} ${backoff && backoffWords(backoff)}</p>
    ${by.length > 0 && html`<p class="small soft">Rejected by ${by.join(", ")}: only events that may help one of them wake the pod.</p>`}
    ${missed.length > 0 && html`<ul class="small soft">${missed.map(({event, asked, strategy}, place) => html`<li key=${place}>${event}: ${asked.map(({plugin, queues}) => `${plugin} ${queues ? "Queue" : "QueueSkip"}`).join(", ") || "no plugin asked"} (${strategy})</li>`)}</ul>`}
    ${leftover !== null && html`<p class="micro mute">flushUnschedulablePodsLeftover comes next at ${moment(leftover)} s.</p>`}
    ${
      after.length > 1 &&
      html`<p class="small soft">Then: ${after
        .slice(1)
        .map(({event, place}) => `${event} → ${place || "outside"}`)
        .join("; ")}.</p>`
    }`;
}
