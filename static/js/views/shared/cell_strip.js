import {useEffect, useRef, useState} from "preact/hooks";

import {html} from "../../lib/html.js";
import {cellAt, stripLayout} from "../../model/nodes/strip.js";

/**
 * Thousands of things as one cell each, on a canvas: `cells` are {fill, ring, title}, colours as CSS has them, `ring` null
 * for a cell without a frame. `size` is the distance of two cells in pixels, `label` what readers of the screen hear.
 */
export function CellStrip({cells, size, label}) {
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
  const layout = stripLayout(cells.length, width, size);
  useEffect(() => {
    if (width > 0) paint(canvas.current, layout, cells);
  });
  const point = (event) => {
    canvas.current.title = cells[cellAt(layout, event.offsetX, event.offsetY)]?.title ?? "";
  };
  return html`<div class="cellstrip"><canvas ref=${canvas} role="img" aria-label=${label} onMouseMove=${point} style=${`width:${width}px;height:${layout.height}px`}></canvas></div>`;
}

function paint(canvas, layout, cells) {
  const scale = devicePixelRatio || 1;
  canvas.width = Math.round(layout.width * scale);
  canvas.height = Math.round(layout.height * scale);
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  const colourOf = colours(canvas.parentElement);
  const size = layout.cell - 1;
  for (const [place, {fill, ring}] of cells.entries()) {
    const [x, y] = layout.origin(place);
    context.fillStyle = colourOf(fill);
    context.fillRect(x, y, size, size);
    if (!ring) continue;
    context.strokeStyle = colourOf(ring);
    context.lineWidth = 2;
    context.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
  }
}

/** Colours of CSS as a canvas knows them, each read once for a painting. */
function colours(host) {
  const known = new Map();
  return (value) => {
    if (!known.has(value)) {
      const probe = host.appendChild(document.createElement("i"));
      probe.style.color = value;
      known.set(value, getComputedStyle(probe).color);
      probe.remove();
    }
    return known.get(value);
  };
}
