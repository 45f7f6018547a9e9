import {useEffect, useRef, useState} from "preact/hooks";

import {html} from "../../lib/html.js";
import {gettext, labelled, ngettext} from "../../lib/words.js";
import {healthOf} from "../../model/run/health_of.js";
import {fullness, zoneLabel, zoneTitle} from "../../model/nodes/nodes.js";
import {cellAt, stripLayout} from "../../model/nodes/strip.js";
import {verdictOf} from "../../model/pods/verdict.js";
import {count} from "../../model/shared/format.js";
import {useInSight} from "../shared/popover.js";
import {NodeCard} from "./node_card.js";

/** [up to this many nodes, size of a cell in px]. */
const CELLS = [
  [300, 18],
  [1500, 12],
  [Infinity, 8],
];
/** So many cells are drawn in one frame; the next ones are drawn in the next frame. */
const CELLS_DRAWN = 6000;
const TABLE_MS = 250;
/** The rows of the table: those around the node that the arrow keys are at. */
const TABLE_ROWS = 60;

/** Large clusters: a strip of small cells per zone, one cell per node. */
export function Strips({session, asked}) {
  const [open, setOpen] = useState(/** @type {{name: string, x: number, y: number} | null} */ (null));
  const {nodes, entities} = session.model;
  const [focused, setFocused] = useState("");
  const popover = useInSight(open);
  const [, cell] = CELLS.find(([most]) => nodes.size <= most) ?? CELLS[CELLS.length - 1];
  return html`
    <div class="zones strips" data-picture="Nodes">
      ${nodes.zones().map(
        ({zone, names}) => html`
        <section class="strip" key=${zone} aria-label=${zoneLabel(zone)}>
          <h3><span>${zoneTitle(zone)}</span><span class="n">${count(names.length)}</span></h3>
          <${Strip} session=${session} asked=${asked} names=${names} cell=${cell} zone=${zone} open=${open} onOpen=${setOpen} onFocus=${setFocused} />
        </section>`,
      )}
      <${NodeTable} session=${session} asked=${asked} around=${focused} />
      ${
        open &&
        (entities.has(`node/${open.name}`) || nodes.pods.get(open.name)?.size > 0) &&
        html`
        <div class="pop nodepop" ref=${popover} role="dialog" aria-label=${gettext("Node {name}", {name: open.name})} style=${`left:${open.x}px;top:${open.y}px`}>
          <button class="btn icon plain close" aria-label=${gettext("Close")} onClick=${() => setOpen(null)}>×</button>
          <${NodeCard} session=${session} name=${open.name} asked=${asked} node=${entities.get(`node/${open.name}`)}
            version=${nodes.version(open.name)} model=${session.model} /></div>`
      }
    </div>`;
}

/** The nodes of one zone on a canvas. */
function Strip({session, asked, names, cell, zone, open, onOpen, onFocus}) {
  /** @type {{current: any}} */
  const canvas = useRef(null);
  const [width, setWidth] = useState(0);
  const [, repaint] = useState(0);
  const [focus, setFocus] = useState(-1);
  const drawn = useRef({base: "", cells: [], nodes: [], evidence: null, frames: ""});
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry.contentRect.width)));
    observer.observe(canvas.current.parentElement);
    const redraw = () => repaint((times) => times + 1);
    addEventListener("themechange", redraw);
    return () => {
      observer.disconnect();
      removeEventListener("themechange", redraw);
    };
  }, []);
  const layout = stripLayout(names.length, width, cell);
  useEffect(() => {
    const framed = [names[focus], open?.name, asked.target].filter(Boolean);
    if (width === 0 || draw(canvas.current, drawn.current, {layout, session, asked, names, framed})) return undefined;
    const next = requestAnimationFrame(() => repaint((times) => times + 1));
    return () => cancelAnimationFrame(next);
  });
  const show = (index) => {
    const name = names[index];
    if (name === undefined) return onOpen(null);
    const box = canvas.current.getBoundingClientRect();
    const outer = canvas.current.closest(".zones").getBoundingClientRect();
    const scrolled = canvas.current.closest(".zones").scrollTop;
    const [x, y] = layout.origin(index);
    const left = Math.min(box.left - outer.left + x, Math.max(0, outer.width - 260));
    return onOpen({name, x: left, y: box.top - outer.top + scrolled + y + cell + 4});
  };
  const hit = (event) => cellAt(layout, event.offsetX, event.offsetY);
  return html`<div class="stripbox"><canvas ref=${canvas} tabindex="0" role="img"
    aria-label=${ngettext("{count} node of {zone}; arrow keys move, Enter opens. A table of the nodes around follows; the page Nodes lists all.", "{count} nodes of {zone}; arrow keys move, Enter opens. A table of the nodes around follows; the page Nodes lists all.", names.length, {zone: zoneTitle(zone)})}
    style=${`width:${width}px;height:${layout.height}px`}
    onClick=${(event) => show(hit(event))}
    onMouseMove=${(event) => {
      canvas.current.title = tip(session, asked, names[hit(event)]);
    }}
    onKeyDown=${(event) => {
      const move = {ArrowRight: 1, ArrowLeft: -1, ArrowDown: layout.columns, ArrowUp: -layout.columns}[event.key];
      if (move) {
        const next = Math.min(names.length - 1, Math.max(0, focus + move));
        setFocus(next);
        onFocus(names[next]);
      } else if (event.key === "Enter") show(focus);
      else if (event.key === "Escape") onOpen(null);
      else return;
      event.preventDefault();
      event.stopPropagation();
    }} /></div>`;
}

function tip(session, asked, name) {
  return name ? labelled(name, cellText(session, asked, name)) : "";
}

function cellText({model}, asked, name) {
  const node = model.entities.get(`node/${name}`);
  if (!node) return gettext("deleted");
  const verdict = verdictOf(asked.evidence, name);
  if (verdict) return verdict.text;
  const {family, words} = healthOf(`node/${name}`, model);
  return `${Math.round(fullness(node) * 100)}% requested${family === "stuck" ? `, ${words}` : ""}`;
}

/** Draw cells that have changed since the last drawing. Returns whether none is left. */
function draw(canvas, drawn, {layout, session, asked, names, framed}) {
  const theme = document.documentElement.dataset.theme;
  const scale = devicePixelRatio || 1;
  const context = canvas.getContext("2d");
  const base = [layout.width, layout.height, layout.cell, names.length, theme, scale].join(" ");
  if (drawn.base !== base) {
    drawn.base = base;
    drawn.cells = [];
    drawn.nodes = [];
    canvas.width = Math.round(layout.width * scale);
    canvas.height = Math.round(layout.height * scale);
    context.setTransform(scale, 0, 0, scale, 0, 0);
  }
  const ink = palette(theme);
  const size = layout.cell - 1;
  const {byName} = session.model.nodes;
  // A node that is the same object as before looks the same, for the same evidence and frames.
  const frames = framed.join(" ");
  const isSame = drawn.evidence === asked.evidence && drawn.frames === frames;
  let left = CELLS_DRAWN;
  for (let i = 0; i < names.length; i += 1) {
    const node = byName.get(names[i]);
    if (isSame && i in drawn.cells && drawn.nodes[i] === node) continue;
    const cell = verdictOf(asked.evidence, names[i])?.kind ?? Math.round(size * fullness(node ?? {}));
    const isFramed = framed.includes(names[i]);
    const look = isFramed ? `framed ${cell}` : cell;
    if (look !== drawn.cells[i]) {
      if (left === 0) return false;
      left -= 1;
      drawCell(context, ink, layout.origin(i), size, cell);
      if (isFramed) frame(context, ink, layout.origin(i), size);
    }
    drawn.cells[i] = look;
    drawn.nodes[i] = node;
  }
  drawn.evidence = asked.evidence;
  drawn.frames = frames;
  return true;
}

/** Shape and colour both show the verdict; without one, the cell is filled as far as requested. */
function drawCell(context, ink, [x, y], size, cell) {
  context.clearRect(x, y, size, size);
  context.fillStyle = ink.pale;
  context.fillRect(x, y, size, size);
  if (typeof cell === "number") {
    context.fillStyle = ink.requested;
    context.fillRect(x, y + size - cell, size, cell);
  } else if (cell === "unfit") {
    const third = Math.round(size / 3);
    context.fillStyle = ink.stuck;
    context.fillRect(x + third, y + third, size - 2 * third, size - 2 * third);
  } else if (cell === "skipped") {
    context.clearRect(x + 1, y + 1, size - 2, size - 2);
  } else {
    context.fillStyle = cell === "chosen" ? ink.settled : ink.fits;
    context.fillRect(x, y, size, size);
  }
}

function frame(context, ink, [x, y], size) {
  context.strokeStyle = ink.ink;
  context.lineWidth = 1.5;
  context.strokeRect(x + 0.75, y + 0.75, size - 1.5, size - 1.5);
}

const palettes = new Map();

/** The tokens as canvas colours, read once per theme. */
function palette(theme) {
  if (!palettes.has(theme)) {
    const probe = document.body.appendChild(document.createElement("i"));
    const read = (value) => {
      probe.style.color = value;
      return getComputedStyle(probe).color;
    };
    palettes.set(theme, {
      pale: read("var(--meter-allocatable)"),
      requested: read("var(--meter-requested)"),
      stuck: read("var(--stuck)"),
      settled: read("var(--settled)"),
      promised: read("var(--promised)"),
      fits: read("color-mix(in srgb, var(--settled) 45%, var(--surface))"),
      ink: read("var(--ink)"),
    });
    probe.remove();
  }
  return palettes.get(theme);
}

/** Some of the canvas as a table for screen readers: the nodes around one. */
function NodeTable({session, asked, around}) {
  const body = useRef(null);
  const latest = useRef({session, asked, around});
  latest.current = {session, asked, around};
  useEffect(() => {
    const timer = setInterval(() => writeRows(body.current, latest.current), TABLE_MS);
    return () => clearInterval(timer);
  }, []);
  return html`
    <div class="vh nodetable" role="table" aria-label=${gettext("Nodes")} aria-rowcount=${session.model.nodes.size + 1}>
      <div role="row" aria-rowindex="1"><span role="columnheader">${gettext("Node")}</span><span role="columnheader">${gettext("Zone")}</span>
        <span role="columnheader">${gettext("State")}</span></div>
      <div role="rowgroup" ref=${body}></div></div>`;
}

/** Write the rows around a node, what has changed in them. */
function writeRows(body, {session, asked, around}) {
  const {place, shown} = nodesAround(session.model.nodes.zones(), around);
  while (body.childElementCount > shown.length) body.lastElementChild.remove();
  while (body.childElementCount < shown.length) newRow(body);
  for (const [i, [name, zone]] of shown.entries()) {
    const row = body.children[i];
    if (row.ariaRowIndex !== String(place + i + 2)) row.ariaRowIndex = String(place + i + 2);
    write(row.children[0], name);
    write(row.children[1], zoneTitle(zone));
    write(row.children[2], cellText(session, asked, name));
  }
}

/** Some nodes around one, as [name, zone], and the place of the first among all. */
function nodesAround(zones, around) {
  let before = 0;
  for (const {zone, names} of zones) {
    const found = around === "" ? 0 : names.indexOf(around);
    if (found >= 0) {
      const first = Math.max(0, found - TABLE_ROWS / 2);
      return {place: before + first, shown: names.slice(first, first + TABLE_ROWS).map((name) => [name, zone])};
    }
    before += names.length;
  }
  return {place: 0, shown: []};
}

function write(cell, text) {
  if (cell.textContent !== text) cell.textContent = text;
}

function newRow(body) {
  const row = document.createElement("div");
  row.setAttribute("role", "row");
  for (let i = 0; i < 3; i += 1) {
    const cell = row.appendChild(document.createElement("span"));
    cell.setAttribute("role", "cell");
  }
  return body.appendChild(row);
}
