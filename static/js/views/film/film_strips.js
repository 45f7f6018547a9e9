import {useEffect, useRef, useState} from "preact/hooks";

import {html} from "../../lib/html.js";
import {gettext, labelled, listText, ngettext} from "../../lib/words.js";
import {cellsOf} from "../../model/film/strips.js";
import {zoneLabel, zoneTitle} from "../../model/nodes/nodes.js";
import {stripLayout} from "../../model/nodes/strip.js";
import {count} from "../../model/shared/format.js";
import {Card} from "./film_nodes.js";

const CELL = 9;

/** A zone is a strip of one cell for each node; the chosen node has its card beside them. */
export function FilmStrips({player}) {
  const {nodes} = player.model;
  const cells = cellsOf(player.film.value, player.picture.value, player.only.value);
  const {chosen} = player.picture.value.far;
  return html`
    <div class="fm-strips" data-picture=${gettext("Nodes")} tabindex="0" role="region" aria-label=${gettext("Nodes")}>${nodes.zones().map(
      ({zone, names}) => html`
      <section key=${zone} aria-label=${zoneLabel(zone)}><h3>${zoneTitle(zone)}<small>${count(names.length)}</small></h3>
        <${Strip} zone=${zone} names=${names} cells=${cells} />
        ${chosen !== undefined && names.includes(chosen) && html`<${Card} player=${player} name=${chosen} />`}</section>`,
    )}</div>`;
}

function Strip({zone, names, cells}) {
  /** @type {{current: any}} */
  const canvas = useRef(null);
  const [width, setWidth] = useState(0);
  const [, repaint] = useState(0);
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
  const layout = stripLayout(names.length, width, CELL);
  useEffect(() => {
    if (width > 0) paint(canvas.current, layout, names, cells);
  });
  const fits = names.filter((name) => cells.get(name)?.cell === "f").length;
  return html`<div><canvas ref=${canvas} role="img" aria-label=${labelled(zoneTitle(zone), listText([ngettext("{count} node", "{count} nodes", names.length), gettext("{fits} fit", {fits})]))} style=${`width:${width}px;height:${layout.height}px`}></canvas></div>`;
}

const COLORS = {
  f: "var(--settled)",
  x: "color-mix(in srgb, var(--stuck) 62%, var(--surface))",
  n: "var(--working)",
  a: "var(--promised)",
  "-": "color-mix(in srgb, var(--ink) 16%, var(--surface))",
  ".": "color-mix(in srgb, var(--ink) 10%, var(--surface))",
  ring: "var(--ink)",
};

function paint(canvas, layout, names, cells) {
  const scale = devicePixelRatio || 1;
  canvas.width = Math.round(layout.width * scale);
  canvas.height = Math.round(layout.height * scale);
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  const inks = coloursOf(canvas);
  const size = layout.cell - 1;
  for (const [place, name] of names.entries()) {
    const {cell, ring} = cells.get(name) ?? {cell: ".", ring: false};
    const [x, y] = layout.origin(place);
    context.fillStyle = inks[cell];
    context.fillRect(x, y, size, size);
    if (!ring) continue;
    context.strokeStyle = inks.ring;
    context.lineWidth = 2;
    context.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
  }
}

/** The tokens as colours of a canvas. */
function coloursOf(canvas) {
  const probe = canvas.parentElement.appendChild(document.createElement("i"));
  const found = Object.entries(COLORS).map(([key, value]) => {
    probe.style.color = value;
    return [key, getComputedStyle(probe).color];
  });
  probe.remove();
  return Object.fromEntries(found);
}
