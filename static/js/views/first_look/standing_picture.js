import {html} from "../../lib/html.js";
import {gettext, listText, ngettext} from "../../lib/words.js";
import {nodeLook, pictureOf} from "../../model/first_look/first_look.js";
import {count} from "../../model/shared/format.js";
import {CellStrip} from "../shared/cell_strip.js";
import {NodeLink} from "../shared/links.js";

/** So many pods of a node, and so many that wait, are drawn one by one. */
const TILES = 24;
const DOTS = 60;
/** The distance of two cells in pixels. */
const CELL = 10;
const LEGEND = [
  ["runs", gettext("runs")],
  ["waits", gettext("waits")],
  ["placed", gettext("has a node, does not run")],
  ["leaving", gettext("is terminating")],
];

/** The cluster as it stands: zones with their nodes and pods, and how many pods wait. */
export function StandingPicture({session, look}) {
  const {zones, waiting, isLarge} = pictureOf(look);
  if (zones.length === 0) return null;
  return html`
    <section class="panel fpic" data-picture=${gettext("As it stands")} aria-labelledby="stands"><div class="sechead"><h2 id="stands">${gettext("As it stands")}</h2><span class="note">${isLarge ? gettext("a cell is a node; its shade is the memory requested") : gettext("the bar is memory requested")}</span>
        ${!isLarge && html`<ul class="legend end">${LEGEND.map(([name, words]) => html`<li key=${name}><span class="tiles"><i class=${name}></i></span>${words}</li>`)}</ul>`}</div>
      <div class=${`fzones${isLarge ? " large" : ""}`}>${zones.map(
        ({zone, nodes}) => html`
        <section class="fzone" key=${zone} style=${`flex-grow:${nodes.length}`}><h3>${zone || gettext("no zone")}${isLarge && html` <span class="num">${zoneWords(nodes)}</span>`}</h3>
          ${isLarge ? html`<${Strip} nodes=${nodes} />` : html`<ul>${nodes.map((node) => html`<${NodeTile} key=${node.name} session=${session} node=${node} />`)}</ul>`}</section>`,
      )}</div>
      ${waiting > 0 && html`<${Waiting} session=${session} waiting=${waiting} />`}
    </section>`;
}

function Waiting({session, waiting}) {
  return html`
    <div class="fwait"><h3>${gettext("Waiting for a node")}</h3>${waiting <= DOTS && html`<span class="tiles">${repeat(waiting, "waits")}</span>`}<b class="num">${count(waiting)}</b>
      ${session.run.value.as_brought && html`<a class="small" href=${session.href("triage")}>${gettext("why")}</a>`}</div>`;
}

function NodeTile({session, node}) {
  const {name, note, memory, runs, placed, terminating} = node;
  const pods = runs + placed + terminating;
  return html`
    <li class=${`fnode ${nodeLook(node)}`}><${NodeLink} session=${session} name=${name}><code>${name}</code><//><span class="fnote">${note}</span>
      <span class="meter" role="img" aria-label=${memory === null ? gettext("memory not known") : gettext("{memory} % of memory requested", {memory})}><i style=${`left:0;width:${Math.min(100, memory ?? 0)}%`}></i></span>
      <span class="tiles" role="img" aria-label=${gettext("{runs} run, {placed} do not run, {terminating} are terminating", {runs: count(runs), placed: count(placed), terminating: count(terminating)})}>${
        pods <= TILES
          ? [repeat(runs, "runs"), repeat(placed, "placed"), repeat(terminating, "leaving")]
          : html`<span class="num">${count(runs)}<i class="runs"></i> ${placed > 0 && html`${count(placed)}<i class="placed"></i> `}${terminating > 0 && html`${count(terminating)}<i class="leaving"></i>`}</span>`
      }</span></li>`;
}

/** One cell for each node of a zone. */
function Strip({nodes}) {
  const cells = nodes.map((node) => ({
    fill: nodeLook(node) === "dead" ? "var(--stuck)" : shade(node),
    ring: nodeLook(node) === "cordoned" ? "var(--held)" : null,
    title: cellTitle(node),
  }));
  return html`<${CellStrip} cells=${cells} size=${CELL} label=${zoneWords(nodes)} />`;
}

/** The shade says how much of the memory is requested. */
function shade({memory}) {
  const style = `color-mix(in srgb, var(--held) ${Math.min(100, Math.round(memory ?? 0))}%, var(--meter-allocatable))`;
  return style;
}

function cellTitle({name, note, memory}) {
  return listText(
    [name, note, memory === null ? "" : gettext("{memory} % of memory requested", {memory})].filter(Boolean),
  );
}

function zoneWords(nodes) {
  const dead = nodes.filter((node) => nodeLook(node) === "dead").length;
  const all = ngettext("{count} node", "{count} nodes", nodes.length);
  return dead > 0 ? listText([all, gettext("{number} not ready", {number: count(dead)})]) : all;
}

function repeat(number, look) {
  return Array.from({length: number}, (_, i) => html`<i key=${`${look}${i}`} class=${look}></i>`);
}
