import {html} from "../../lib/html.js";
import {capital, gettext, listText, ngettext} from "../../lib/words.js";
import {
  MEASURES,
  alikeText,
  barsOn,
  differenceText,
  figure,
  foldedRows,
  grouped,
  runLine,
  shareDifference,
  shareText,
  shortfall,
  spotHealth,
} from "../../model/run/comparison.js";
import {cutName} from "../../model/run/two_boards.js";
import {pageHref} from "../../model/run/place.js";
import {partOf, ticks} from "../../model/run/timeline.js";
import {eventText} from "../../model/shared/event_words.js";
import {count, moment, parseId, tick as tickText, timeText} from "../../model/shared/format.js";
import {NO_FORK} from "../../model/shared/rights.js";
import {Mark, Name} from "../shared/mark.js";
import {Sentence} from "../shared/sentence.js";
import {Reading, RunPage, isWaiting} from "./run_page.js";
import {Boards, Calculation, Causes, WaitingLines, Waits} from "./two_boards.js";

/** A run compared with another one. `others` are the runs to choose from, `versions` the versions of Kubernetes. */
export function ComparePage({session, comparison, others, versions}) {
  return html`<${RunPage} session=${session}>
    <${Body} session=${session} comparison=${comparison} others=${others} versions=${versions} /><//>`;
}

function Body({session, comparison, others, versions}) {
  const read = comparison.result.value;
  // A result for another moment is not shown.
  const result = read && session.playhead.past.value && read.at !== session.model.at ? null : read;
  const problem = comparison.problem.value;
  return html`
    <main class="page compare">
      <${Head} session=${session} comparison=${comparison} others=${others} versions=${versions} />
      ${comparison.other === null && html`<${Choice} session=${session} others=${others} />`}
      ${problem && html`<p class="small tinted f-stuck" role="alert">${problem}</p>`}
      ${comparison.other !== null && !result && !problem && html`<${Reading} session=${session} />`}
      ${result && !isWaiting(session) && html`<${Result} session=${session} comparison=${comparison} result=${result} />`}
    </main>`;
}

function Head({session, comparison, others, versions}) {
  const run = session.run.value;
  return html`
    <div class="pagehead"><h1>${gettext("Compare <ns>#{id} with</ns>", {ns: (inner) => html`<span class="ns">${inner}</span>`, id: run.id})}</h1>
      <select class="against" aria-label=${gettext("The run to compare with")} value=${String(comparison.other ?? "")}
        onChange=${(event) => {
          session.address.open(session.href("compare", {with: event.target.value}));
        }}>
        <option value="" disabled>${gettext("choose a run")}</option>
        ${grouped(others).map(
          ([title, runs]) =>
            html`<optgroup key=${title} label=${title}>${runs.map(
              (each) => html`
          <option key=${each.id} value=${String(each.id)}>${runLine(each)}</option>`,
            )}</optgroup>`,
        )}</select>
      <div class="end"><span class="small mute">${gettext("Replay with <link>version</link>", {link: (inner) => html`<a href="/versions/">${inner}</a>`})}</span>${versions
        .filter(({name}) => name !== run.profile)
        .map(
          ({name, summary}) => html`
        <button key=${name} class="btn" disabled=${!session.mayFork} title=${session.mayFork ? summary : NO_FORK} aria-label=${gettext("Replay with version {name} and compare", {name})}
          onClick=${() => comparison.withProfile(name)}>${name}</button>`,
        )}</div></div>`;
}

/** The runs to choose from. */
function Choice({session, others}) {
  return html`
    <p class="soft lead">${gettext("Choose a run to compare with this one, or replay the same scenario and commands with another version of Kubernetes, up to the same time.")}</p>
    ${grouped(others).map(
      ([title, runs]) => html`
      <section class="sec" key=${title} aria-label=${title}><div class="sechead"><h2>${capital(title)}</h2></div>
        <ul class="choice">${runs.map(
          (run) => html`<li key=${run.id}><a href=${session.href("compare", {with: run.id})}>${runLine(run)}</a>
          <span class="mute">${gettext("{head} events, {head_at}", {head: count(run.head), head_at: timeText(run.head_at)})}</span></li>`,
        )}</ul></section>`,
    )}
    ${others.length === 0 && html`<p class="empty">${gettext("There is no other run yet. Fork this one, or replay it with another version.")}</p>`}`;
}

function Result({session, comparison, result}) {
  const late = shortfall(result);
  return html`
    <section class=${`blocker parting f-${result.divergence ? "held" : "settled"}`} aria-label=${gettext("First difference")}>
      ${result.sentence && html`<h2 class="say"><${Sentence} text=${result.sentence} /></h2>`}
      <p class=${result.sentence ? "" : "say"}>${result.parting}</p>
      <p>${result.placing}</p>
      <${Causes} result=${result} />
      <${Calculation} result=${result} />
      ${result.version_change && !result.rule && html`<p>${result.version_change.words} <a href=${`/versions/#${result.version_change.anchor}`}>${gettext("See the rule")}</a></p>`}
      ${late && html`<p class="small soft">${late}</p>`}
      <${Jumps} session=${session} comparison=${comparison} result=${result} /></section>
    <${Boards} session=${session} result=${result} />
    <${Waits} session=${session} result=${result} />
    <${WaitingLines} result=${result} />
    <${Histories} result=${result} />
    <div class="sec twotables"><${Numbers} result=${result} /><${Use} result=${result} /></div>
    <${Elsewhere} result=${result} />
    <${Beside} comparison=${comparison} result=${result} />`;
}

function Jumps({session, comparison, result}) {
  const {divergence, decision, a, b} = result;
  if (a.id === b.id) return null;
  return html`
    <p class="does">${decision && html`<button class="btn primary" aria-keyshortcuts="f" onClick=${() => comparison.toFirst()}>${gettext("Show the first decision that differs")}</button>`}
      ${result.partings.length > 0 && html`<button class="btn" aria-keyshortcuts="n" onClick=${() => comparison.toNext()}>${gettext("Next difference")}</button>`}
      ${divergence && html`<button class="btn" onClick=${() => session.playhead.seek({seq: divergence.seq}, {isJump: true})}>${gettext("Jump to the first difference")}</button>`}
      ${divergence && html`<a class="btn" href=${pageHref(b.id, "board", {seq: divergence.seq})}>${gettext("Show it in #{id}", {id: b.id})}</a>`}
      <a class="btn" href=${pageHref(b.id, "compare", {with: a.id, seq: session.playhead.past.value ? b.seq : null})}>${gettext("Swap")}</a></p>`;
}

/** Both histories on one axis of time; the line marks the first difference. */
function Histories({result}) {
  const {axis, divergence} = result;
  const parted = divergence && percent(partOf(divergence.at, axis.to));
  return html`
    <section class="sec histories" data-picture=${gettext("Histories")} aria-label=${gettext("Histories")}>
      <div class="sechead"><h2>${gettext("Histories")}</h2><span class="note">${divergence ? gettext("events over time, both on one axis; they diverge at {time}", {time: timeText(divergence.at)}) : gettext("events over time, both on one axis")}</span></div>
      ${["a", "b"].map((side) => html`<${History} key=${side} run=${result[side]} axis=${axis} counts=${axis[side]} parted=${parted} />`)}
      <div class="axis">${ticks(axis.to).map(({at, part}, i) => html`<span key=${at} class=${i % 2 === 1 ? "opt" : ""} style=${`left:${percent(part)}`}>${tickText(at, axis.to)}</span>`)}</div>
    </section>`;
}

function History({run, axis, counts, parted}) {
  const words = gettext("{profile}, seed {seed}", {profile: run.profile, seed: run.seed});
  return html`
    <div class="history"><span class="cut" title=${listText([`#${run.id}`, words])}><a href=${pageHref(run.id, "board", {seq: run.at < run.head_at ? run.seq : null})}>#${run.id}</a> <span class="mute">${words}</span></span>
      <div class="lane"><svg class="hist" viewBox="0 0 600 20" preserveAspectRatio="none" aria-hidden="true">
        ${barsOn({to: axis.to, counts}).map(
          ({x, width, height, start}) => html`<rect key=${start} class=${start <= run.at ? "past" : "ahead"}
          x=${(x * 600).toFixed(1)} width=${Math.max(1, width * 480).toFixed(1)} y=${(20 - Math.max(1, height * 20)).toFixed(1)} height=${Math.max(1, height * 20).toFixed(1)} />`,
        )}</svg>
        <span class="reach" style=${`width:${percent(partOf(run.head_at, axis.to))}`}></span>
        ${parted && html`<span class="parted" style=${`left:${parted}`}></span>`}
        <span class="at" style=${`left:${percent(partOf(run.at, axis.to))}`}></span></div>
      <span class="num">${gettext("{head} events, {head_at}", {head: count(run.head), head_at: timeText(run.head_at)})}</span></div>`;
}

function percent(part) {
  return `${(part * 100).toFixed(2)}%`;
}

function Numbers({result}) {
  const {a, b, measures} = result;
  return html`
    <section aria-label=${gettext("Numbers")}><div class="sechead"><h2>${gettext("Numbers")}</h2><span class="note">${momentOf(result)}</span></div>
      <table class="tbl"><thead><tr><th scope="col">${gettext("Figure")}</th><th scope="col" class="right">#${a.id}</th><th scope="col" class="right">#${b.id}</th><th scope="col" class="right">#${b.id} − #${a.id}</th></tr></thead>
        <tbody>${measures.map(
          (row) => html`<tr key=${row.key}><th scope="row">${MEASURES[row.key] ?? row.key}</th>
          <td class="right">${figure(row.a, row.unit)}</td><td class="right">${figure(row.b, row.unit)}</td>
          <td class=${`right${row.difference === 0 ? " mute" : ""}`}>${differenceText(row)}</td></tr>`,
        )}</tbody></table></section>`;
}

function momentOf({a, b}) {
  return a.at === b.at
    ? gettext("at {at}", {at: timeText(a.at)})
    : listText([a, b].map(({id, at}) => gettext("#{id} at {time}", {id, time: timeText(at)})));
}

function Use({result}) {
  const {a, b, utilisation} = result;
  return html`
    <section aria-label=${gettext("Utilisation")}><div class="sechead"><h2>${gettext("Utilisation")}</h2><span class="note">${gettext("requested / allocatable, all nodes")}</span></div>
      <table class="tbl"><thead><tr><th scope="col">${gettext("Resource")}</th><th scope="col" class="right">#${a.id}</th><th scope="col" class="right">#${b.id}</th><th scope="col" class="right">#${b.id} − #${a.id}</th></tr></thead>
        <tbody>${utilisation.map(
          (row) => html`<tr key=${row.resource}><th scope="row">${row.resource}</th>
          <td class="right">${shareText(row.resource, row.a)}</td><td class="right">${shareText(row.resource, row.b)}</td>
          <td class="right">${shareDifference(row)}</td></tr>`,
        )}</tbody></table>
      ${utilisation.length === 0 && html`<p class="empty">${gettext("Neither run has a node.")}</p>`}</section>`;
}

function Elsewhere({result}) {
  const {a, b, placements} = result;
  const {rows} = placements;
  return html`
    <section class="sec" aria-label=${gettext("Placement differences")}><div class="sechead"><h2>${gettext("Placement differences")}</h2>
        <span class="note">${placements.count === 0 ? gettext("none") : ngettext("{count} pod, earliest difference first", "{count} pods, earliest difference first", placements.count)}</span></div>
      ${
        rows.length > 0 &&
        html`<div class="scroll-x" tabindex="0" role="region" aria-label=${gettext("Table of placement differences")}><table class="tbl elsewhere">
        <thead><tr><th scope="col">${gettext("Pod")}</th><th scope="col">${gettext("Since")}</th><th scope="col">${gettext("In #{id}", {id: a.id})}</th><th scope="col">${gettext("In #{id}", {id: b.id})}</th></tr></thead>
        <tbody>${rows.map(
          (row) => html`<tr key=${row.pod}><th scope="row" title=${parseId(row.pod).key}><${Named} id=${row.pod} /></th>
          <td class="num">${row.at === null ? "" : `${timeText(row.at)}`}</td>
          <td><${Place} run=${a} pod=${row.pod} spot=${row.a} /></td><td><${Place} run=${b} pod=${row.pod} spot=${row.b} /></td></tr>`,
        )}</tbody></table></div>`
      }
      ${placements.count > rows.length && html`<p class="small mute after">${gettext("The first {shown} of {all}.", {shown: count(rows.length), all: count(placements.count)})}</p>`}
    </section>`;
}

function Named({id}) {
  const {namespace, name} = parseId(id);
  return html`<${Name} namespace=${namespace} name=${cutName(name)} />`;
}

/** The state of a pod in one run, with a link to the attempt that caused it. */
function Place({run, pod, spot}) {
  const {mark, family, detail} = spotHealth(pod, spot, run.at);
  const {key} = parseId(pod);
  return html`<span class="spot"><${Mark} name=${mark} family=${family} /><span>${detail}</span>
    ${
      spot.seq !== null &&
      html`<a class="small mute nowrap" href=${pageHref(run.id, "pod", {of: key, seq: spot.seq})}
      aria-label=${gettext("{key} in #{id} at {at}", {key, id: run.id, at: timeText(spot.at)})}>${timeText(spot.at)}</a>`
    }</span>`;
}

function Beside({comparison, result}) {
  const {a, b, divergence} = result;
  const rows = comparison.rows.value;
  if (rows.length === 0) return null;
  return html`
    <section class="sec" aria-label=${gettext("Events side by side")}><div class="sechead"><h2>${gettext("Events")}</h2>
        <span class="note">${divergence ? gettext("from the first difference on, by time") : gettext("that only one of the runs has so far")}</span></div>
      <div class="scroll-x" tabindex="0" role="region" aria-label=${gettext("Table of events side by side")}><table class="tbl beside"><colgroup><col style="width:84px" /><col /><col /></colgroup>
        <thead><tr><th scope="col">${gettext("Time, s")}</th><th scope="col">#${a.id}</th><th scope="col">#${b.id}</th></tr></thead>
        <tbody>${foldedRows(rows).map((each) =>
          each.alike
            ? html`<tr class="alike" key=${`=${each.alike[0].a.seq}`}><td colspan="3">${alikeText(each.alike)}</td></tr>`
            : html`<${Pair} key=${`${each.row.a?.seq}|${each.row.b?.seq}`} row=${each.row} a=${a} b=${b} />`,
        )}</tbody></table></div>
      <div class="listfoot">${comparison.next.value && html`<button class="btn" onClick=${() => comparison.more()}>${gettext("Show more")}</button>`}</div>
    </section>`;
}

function Pair({row, a, b}) {
  return html`<tr class=${row.same ? "same" : ""}><td class="num mute">${moment(row.at)}</td>
    <td><${Cell} run=${a} event=${row.a} /></td><td><${Cell} run=${b} event=${row.b} />${otherThanWords(row)}</td></tr>`;
}

/** What differs in a row with equal messages. */
function otherThanWords({a, b, same, differs = []}) {
  if (same || !a || !b || a.message !== b.message || differs.length === 0) return null;
  return html`<p class="micro mute">${gettext("same message, different {fields}", {fields: listText(differs)})}</p>`;
}

/** An event of one run, or a dash. */
function Cell({run, event}) {
  if (!event)
    return html`<span class="mute" title=${gettext("no event in #{id}", {id: run.id})}><span aria-hidden="true">–</span><span class="vh">${gettext("no event in #{id}", {id: run.id})}</span></span>`;
  const {name} = parseId(event.object ?? "");
  return html`<span class="eventcell"><a class="mono mute" href=${pageHref(run.id, "board", {seq: event.seq})}>${event.seq}</a>
    <span><b class="kind">${event.kind}</b> <span title=${event.object}>${name}</span> <span class="soft">${eventText(event)}</span></span></span>`;
}
