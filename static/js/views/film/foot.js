import {html} from "../../lib/html.js";
import {gettext, listText, ngettext} from "../../lib/words.js";
import {candidatesOf} from "../../model/pods/preemption.js";
import {eventText, withEvictors} from "../../model/shared/event_words.js";
import {author, count, moment, parseId} from "../../model/shared/format.js";
import {Icon} from "../shared/mark.js";

const DRAWN_EVENTS = 6;
const COLUMNS = 10;

/** Below the nodes: the events up to the play head and the nodes by answer, or the ladder. */
export function Foot({player}) {
  const {ladder} = player.picture.value;
  if (ladder) return html`<div class="fm-foot whole"><${Ladder} player=${player} ladder=${ladder} /></div>`;
  return html`<div class="fm-foot"><${Events} player=${player} /><${Tally} player=${player} /></div>`;
}

function Events({player}) {
  const {model} = player;
  const step = player.step.value;
  const events = withEvictors(model.run.events).slice(0, DRAWN_EVENTS);
  const isInside = step.isStill && step.phase !== "assume" && step.phase !== "reserve" && step.phase !== "permit";
  return html`
    <section class="fm-events" aria-label=${gettext("Events")}><header><h2>${gettext("Events")}</h2><span class="mute" title=${isInside ? gettext("none while the cycle decides: this is inside one event") : gettext("newest first")}>${isInside ? gettext("none while the cycle decides: this is inside one event") : gettext("newest first")}</span></header>
      <ol tabindex="0" aria-label=${gettext("Events up to this step, newest first")}>${events.map((event) => {
        const {seq, at, kind, object, component} = event;
        return html`<li key=${seq} class=${seq === model.seq ? "now" : ""}><span class="num q">${seq}</span><span class="num t">${moment(at)}</span><span class="src" title=${author(component)}>${author(component)}</span><span class="o" title=${object}>${parseId(object ?? "").name}</span><span class="msg" title=${`${kind} ${eventText(event)}`}><b>${kind}</b> ${eventText(event)}</span></li>`;
      })}</ol></section>`;
}

function Tally({player}) {
  const {tally, far} = player.picture.value;
  const rows = Object.entries(tally.reasons);
  const all = Math.max(1, tally.wanted);
  const fits = typeof far.fit === "number" ? far.fit : 0;
  return html`
    <section class="fm-tally" aria-label=${gettext("Nodes by answer")}><header><h2>${tally.asked > 0 ? gettext("{asked} of {wanted} asked", {asked: count(tally.asked), wanted: count(tally.wanted)}) : gettext("Nodes by answer")}</h2><span class="mute">${tally.calls > 0 ? ngettext("{count} call", "{count} calls", tally.calls) : ""}</span></header>
      ${
        tally.asked > 0
          ? html`<ul>${rows.map(([reason, many]) => html`<${Row} key=${reason} words=${reason} many=${many} all=${all} family="stuck" />`)}<${Row} words=${gettext("fit")} many=${fits} all=${all} family="settled" /></ul>`
          : html`<p class="fm-note">${gettext("Fills up as filters answer.")}</p>`
      }</section>`;
}

function Row({words, many, all, family}) {
  return html`<li class=${`f-${family}`}><span class="k" title=${words}>${words}</span><span class="br"><i style=${`width:${((many / all) * 100).toFixed(1)}%`}></i></span><b class="num">${count(many)}</b></li>`;
}

/** Criteria as rows, candidates as columns: one falls where its cell is struck, and is blank below. */
function Ladder({player, ladder: {seen, rungs}}) {
  const {ordered, dry_runs: runs, outcome} = player.film.value.answer.post_filter;
  const evidence = {...outcome, candidates: Object.fromEntries(outcome.candidates.map((each) => [each.node, each]))};
  const turn = new Map(runs.map(({node}, place) => [node, place]));
  // The best ten, in the order of their dry runs.
  const {rows} = candidatesOf(evidence);
  const turnOf = ({node}) => turn.get(node) ?? 0;
  const shown = rows.slice(0, COLUMNS).toSorted((one, other) => turnOf(one) - turnOf(other));
  const isSeen = (row) => turnOf(row) < seen;
  const left = rungs > 0 ? outcome.rungs[rungs - 1].left : (ordered?.nodes ?? []);
  const isLast = rungs === outcome.rungs.length && rungs > 0;
  const look = (row) =>
    !isSeen(row) ? "ahead" : isLast && row.node === outcome.node ? "won" : left.includes(row.node) ? "" : "gone";
  return html`
    <section class="fm-ladder" tabindex="0" role="region" aria-label=${gettext("Candidates on the ladder")}><table>
      <thead><tr><th scope="col">${gettext("Rung")}</th>${shown.map((row) => html`<th key=${row.node} scope="col" class=${`cut ${look(row)}`} title=${row.node}>${row.node}</th>`)}</tr></thead>
      <tbody><tr class="vic"><th scope="row">${gettext("victims")}</th>${shown.map((row) => html`<td key=${row.node}>${isSeen(row) && html`<span class="vs" title=${listText(row.victims)}>${row.victims.slice(0, 6).map((pod) => html`<${Icon} key=${pod} name="victim" />`)}<span class="vh">${row.victims.length}</span></span>`}</td>`)}</tr>
        ${outcome.rungs.map(
          (
            {rung},
            place,
          ) => html`<tr key=${rung} class=${place === rungs - 1 ? "now" : place >= rungs ? "ahead" : ""}><th scope="row"><b>${place + 1}</b> ${rung}</th>
          ${shown.map((row) => html`<${Cost} key=${row.node} cost=${costOf(row, rung)} isAhead=${place >= rungs} />`)}</tr>`,
        )}</tbody></table>
      ${rows.length > shown.length && html`<p class="micro mute">${ngettext("and {count} more candidate", "and {count} more candidates", rows.length - shown.length)}</p>`}</section>`;
}

const CELLS = [
  gettext("fewest PDB violations"),
  gettext("lowest highest priority"),
  gettext("smallest priority sum"),
  gettext("fewest victims"),
  gettext("latest start time"),
];

/** The cell of a candidate at a rung; without a cost of its own it is empty. */
function costOf({cells}, rung) {
  return cells[CELLS.indexOf(rung)] ?? {text: "", state: "in"};
}

function Cost({cost: {text, state}, isAhead}) {
  if (isAhead) return html`<td class="ahead"></td>`;
  if (state === "gone") return html`<td class="blank"></td>`;
  return html`<td class=${state === "out" ? "falls" : "stays"}><b>${text}</b></td>`;
}
