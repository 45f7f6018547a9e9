import {html} from "../../lib/html.js";
import {gettext, labelled, listParts, listText, ngettext} from "../../lib/words.js";
import {
  cutName,
  inputWords,
  isShared,
  isStrip,
  linePath,
  placedCount,
  sharedWords,
  terms,
  tileTitle,
  zonesOf,
} from "../../model/run/two_boards.js";
import {partOf, ticks} from "../../model/run/timeline.js";
import {count, duration, parseId, tick as tickText, timeText} from "../../model/shared/format.js";
import {CellStrip} from "../shared/cell_strip.js";
import {Name} from "../shared/mark.js";

const SIDES = ["a", "b"];
const SHOWN = 8;
/** So many pods that wait have a tile each. */
const MOST_WAITS = 200;
/** The distance of two cells of a strip in pixels. */
const CELL = 10;

/** In what the two runs were given they differ, and the rule of the versions behind it. */
export function Causes({result}) {
  const {inputs, rule} = result;
  return html`
    ${inputs.length > 0 && html`<p class="causes">${gettext("Different input:")} ${inputs.slice(0, SHOWN).map((each) => html`<${Given} key=${each.what} given=${each} />`)}${inputs.length > SHOWN && html`<span>${gettext("{number} more", {number: count(inputs.length - SHOWN)})}</span>`}</p>`}
    ${rule && html`<p>${rule.words} <a href=${`/versions/#${rule.anchor}`}>${gettext("See the rule")}</a></p>`}`;
}

function Given({given}) {
  const {what, from, to} = inputWords(given);
  return html`<span class="given">${listParts([html`<b>${what}</b>`, `${from} → ${to}`])}</span>`;
}

/** The two nodes of the first decision under both runs, with the factors that changed. */
export function Calculation({result}) {
  const {decision, a, b} = result;
  const told = decision?.calculation;
  if (!told) return null;
  const best = (side) => Math.max(...told.rows.map((row) => row[side].total));
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label=${gettext("Calculation of both runs")}><table class="tbl calc">
      <thead><tr><th scope="col">${gettext("2 of {fit} nodes that fit", {fit: count(told.fit)})}</th><th scope="col">#${a.id}</th><th scope="col">#${b.id}</th></tr></thead>
      <tbody>${told.rows.map(
        (row) => html`<tr key=${row.node}><th scope="row" class="mono" title=${row.node}>${cutName(row.node)}</th>
        ${SIDES.map((side) => html`<td key=${side} class="mono"><${Sum} side=${row[side]} changed=${told.changed} won=${row[side].total === best(side)} /></td>`)}</tr>`,
      )}</tbody></table></div>`;
}

function Sum({side, changed, won}) {
  const {rest, apart} = terms(side, changed);
  if (apart.length === 0) return html`<b class=${won ? "won" : ""}>${side.total}</b>`;
  return html`${rest}${apart.map(
    ({plugin, score, weight}) =>
      html` + <span key=${plugin} title=${gettext("{plugin}: score {score}, weight {weight}", {plugin, score, weight: weight ?? 1})}><b class="changed">${score}·${weight ?? 1}</b></span>`,
  )} = <b class=${won ? "won" : ""}>${side.total}</b>`;
}

/** The pods whose time to bind differs most. */
export function Waits({session, result}) {
  const {waits, a, b} = result;
  if (waits.count === 0) return null;
  return html`
    <section class="sec" aria-label=${gettext("Time to bind")}><div class="sechead"><h2>${gettext("Time to bind")}</h2><span class="note">${ngettext("differs for {count} pod, the largest difference first", "differs for {count} pods, the largest difference first", waits.count)}</span></div>
      <div class="scroll-x" tabindex="0" role="region" aria-label=${gettext("Table of times to bind")}><table class="tbl">
        <thead><tr><th scope="col">${gettext("Pod")}</th><th scope="col" class="right">#${a.id}</th><th scope="col" class="right">#${b.id}</th><th scope="col" class="right">${gettext("Ratio")}</th></tr></thead>
        <tbody>${waits.rows.slice(0, SHOWN).map(
          (
            row,
          ) => html`<tr key=${`${row.pod} ${row.a_seq}`}><th scope="row"><${Pick} session=${session} pod=${row.pod} /></th>
          <td class="right">${duration(row.a)}</td><td class="right">${duration(row.b)}</td><td class="right">${row.ratio === null ? "" : `${row.ratio} ×`}</td></tr>`,
        )}</tbody></table></div></section>`;
}

function Pick({session, pod}) {
  const {namespace, name} = parseId(pod);
  return html`<button class="pick" title=${parseId(pod).key} aria-pressed=${String(session.selection.pod.value === pod)} onClick=${() => toggle(session, pod)}><${Name} namespace=${namespace} name=${cutName(name)} /></button>`;
}

function toggle(session, pod) {
  session.select({pod: session.selection.pod.value === pod ? null : pod});
}

/** Both clusters at the same moment; one board where they are the same. */
export function Boards({session, result}) {
  if (isShared(result)) {
    return html`<section class="boards one" data-picture=${gettext("The board of both")} aria-label=${gettext("The board of both")}><${Board} session=${session} letter="A = B" run=${result.a} other=${result.b} board=${result.boards.a} />
      <p class="small soft">${sharedWords(result)}</p></section>`;
  }
  return html`<section class="boards" data-picture=${gettext("Both boards")} aria-label=${gettext("Both boards")}>${SIDES.map(
    (side) =>
      html`<${Board} key=${side} session=${session} letter=${side.toUpperCase()} run=${result[side]} board=${result.boards[side]} />`,
  )}</section>`;
}

function Board({session, letter, run, other, board}) {
  const picked = session.selection.pod.value;
  const Zone = isStrip(board) ? Strip : Cards;
  const names = other ? gettext("#{one} and #{other}", {one: run.id, other: other.id}) : `#${run.id}`;
  return html`
    <article class="oneboard" aria-label=${other ? gettext("Board of #{one} and #{other}", {one: run.id, other: other.id}) : gettext("Board of #{id}", {id: run.id})}>
      <header><b class="letter">${letter}</b><b>${names}</b><span class="mute cut" title=${run.name}>${listText([cutName(run.name), run.profile])}</span><span class="end small mute">${gettext("{number} on nodes", {number: count(placedCount(board))})}</span></header>
      ${zonesOf(board).map(
        ([zone, nodes]) => html`<div class="zonerow" key=${zone}><span class="zname" title=${zone}>${zone}</span>
        <${Zone} session=${session} nodes=${nodes} picked=${picked} /></div>`,
      )}
      <div class="waits"><span class="small">${ngettext("{number} waits", "{number} wait", board.waits.length, {number: html`<b>${count(board.waits.length)}</b>`})}</span>
        <div class="tiles">${board.waits.slice(0, MOST_WAITS).map((pod) => html`<${Tile} key=${pod.pod} session=${session} pod=${pod} picked=${picked} waits=${true} />`)}${board.waits.length > MOST_WAITS && html`<span class="small mute">${gettext("and {size} more", {size: count(board.waits.length - MOST_WAITS)})}</span>`}</div></div>
    </article>`;
}

function Cards({session, nodes, picked}) {
  return html`<div class="cells">${nodes.map(
    ({name, cpu, pods}) => html`
    <div class=${`cell${pods.some(({pod}) => pod === picked) ? " held" : ""}`} key=${name}>
      <div class="ln"><b class="mono" title=${name}>${cutName(name, 12)}</b><span class="m"><i style=${`width:${((cpu[0] / Math.max(1, cpu[1])) * 100).toFixed(1)}%`}></i></span><span class="num">${cpu[0] / 1000}</span></div>
      <div class="tiles">${pods.map((pod) => html`<${Tile} key=${pod.pod} session=${session} pod=${pod} picked=${picked} />`)}</div></div>`,
  )}</div>`;
}

const HERE_STYLE = "color-mix(in srgb, var(--settled) 36%, var(--surface))";

/** One cell per node: dark where a pod is elsewhere. */
function Strip({nodes, picked}) {
  const cells = nodes.map(({name, pods}) => {
    const elsewhere = pods.filter((pod) => pod.elsewhere).length;
    return {
      fill: elsewhere > 0 ? "var(--ink)" : HERE_STYLE,
      ring: pods.some(({pod}) => pod === picked) ? "var(--focus)" : null,
      title: labelled(
        name,
        listText([
          ngettext("{count} pod", "{count} pods", pods.length),
          gettext("{number} elsewhere", {number: count(elsewhere)}),
        ]),
      ),
    };
  });
  const dark = nodes.filter(({pods}) => pods.some(({elsewhere}) => elsewhere)).length;
  const label = listText([
    ngettext("{count} node", "{count} nodes", nodes.length),
    gettext("{number} with pods that are elsewhere", {number: count(dark)}),
  ]);
  return html`<div class="cells strip"><${CellStrip} cells=${cells} size=${CELL} label=${label} /></div>`;
}

function Tile({session, pod, picked, waits = false}) {
  const title = tileTitle(pod);
  const looks = ["pod", waits && "wait", pod.assumed && "assumed", pod.elsewhere && "elsewhere"];
  return html`<button class=${looks.filter(Boolean).join(" ")} title=${title} aria-label=${title} aria-pressed=${String(picked === pod.pod)} onClick=${() => toggle(session, pod.pod)}></button>`;
}

/** How many pods wait in both runs over time; the dashed line is where decisions part. */
export function WaitingLines({result}) {
  const {axis, a, b, decision, divergence} = result;
  const most = Math.max(1, ...axis.waiting.a, ...axis.waiting.b);
  const box = {width: 600, height: 100, most};
  const parted = decision?.at ?? divergence?.at ?? null;
  const upright = (at, name) =>
    html`<line class=${name} x1=${partOf(at, axis.to) * 600} x2=${partOf(at, axis.to) * 600} y1="0" y2="100" />`;
  return html`
    <section class="waitinglines" data-picture=${gettext("Pods that wait")} aria-label=${gettext("Pods that wait")}><div class="sechead"><h2>${gettext("Pods that wait")}</h2><span class="note"><i class="key la"></i>#${a.id} <i class="key lb"></i>${listText([`#${b.id}`, gettext("at most {most}", {most: count(most)})])}</span></div>
      <svg viewBox="0 0 600 100" preserveAspectRatio="none" role="img" aria-label=${gettext("Waiting pods over time in both runs")}>
        ${SIDES.map((side) => html`<path key=${side} class=${`l${side}`} d=${linePath(axis.waiting[side], box)} />`)}
        ${parted !== null && upright(parted, "part")}${upright(a.at, "head")}</svg>
      <div class="axis">${ticks(axis.to).map(({at, part}, i) => html`<span key=${at} class=${i % 2 === 1 ? "opt" : ""} style=${`left:${(part * 100).toFixed(2)}%`}>${tickText(at, axis.to)}</span>`)}</div>
      ${parted !== null && html`<p class="small mute after">${gettext("They part at {time}.", {time: timeText(parted)})}</p>`}</section>`;
}
