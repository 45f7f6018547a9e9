import {useEffect, useRef} from "preact/hooks";

import {html} from "../../lib/html.js";
import {gettext} from "../../lib/words.js";
import {tick} from "../../model/shared/format.js";
import {roundMoments} from "../../model/timeline/ticks.js";
import {momentAt, pixelOf, stretched, wholeOf} from "../../model/timeline/window.js";
import {palette} from "./palette.js";

const HEIGHT = 52;
const FOOT = 14;
/** So near, in pixels, the pointer takes hold of an edge of the window. */
const GRIP = 7;

/** The whole run: pods that wait as bars, those that run as a line, and the window, which can be dragged. */
export function Minimap({trace, path}) {
  /** @type {{current: any}} */
  const canvas = useRef(null);
  const held = useRef("");
  const answer = trace.answer.value;
  const window = trace.shown.value;
  useEffect(() => {
    if (answer) paint(canvas.current, {trace, path});
  });
  const whole = wholeOf(trace.end.value);
  const momentOf = (event) => momentAt(event.offsetX, whole, canvas.current.clientWidth);
  const drag = (event) => {
    const at = momentOf(event);
    if (held.current === "window") trace.centre(at);
    else trace.window.value = stretched(window, held.current, at, trace.end.value);
  };
  const begin = (event) => {
    canvas.current.setPointerCapture(event.pointerId);
    held.current = gripOf(event.offsetX, window, whole, canvas.current.clientWidth);
    drag(event);
  };
  const end = () => {
    held.current = "";
  };
  return html`<div class="miniwrap" data-picture=${gettext("The whole run")}><canvas ref=${canvas} class="minimap" aria-hidden="true" title=${gettext("Drag to move the window, or its edges to change it")}
    onPointerDown=${begin} onPointerMove=${(event) => held.current && drag(event)} onPointerUp=${end} onPointerCancel=${end} /></div>`;
}

function gripOf(x, window, whole, width) {
  for (const edge of ["start", "end"]) {
    if (Math.abs(x - pixelOf(window[edge], whole, width)) < GRIP) return edge;
  }
  return "window";
}

function paint(canvas, {trace, path}) {
  const scale = devicePixelRatio || 1;
  const width = canvas.clientWidth;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(HEIGHT * scale);
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  const ink = palette();
  const base = HEIGHT - FOOT;
  const whole = wholeOf(trace.end.value);
  const x = (at) => pixelOf(at, whole, width);
  counts({context, ink, width, base}, trace.answer.value.overview);
  const {read, head, read_at: readAt} = trace.answer.value;
  if (read < head) {
    context.fillStyle = ink.sunk;
    context.fillRect(x(readAt), 0, width, base);
  }
  context.fillStyle = ink.strongLine;
  context.fillRect(0, base, width, 1);
  context.font = ink.small;
  context.fillStyle = ink.ink3;
  for (const at of roundMoments(whole, width)) {
    const text = tick(at, whole.end);
    context.fillText(text, Math.min(x(at) + 2, width - context.measureText(text).width), HEIGHT - 3);
  }
  frame({context, ink, width, base}, x(trace.shown.value.start), x(trace.shown.value.end));
  if (path) {
    context.fillStyle = ink.ink;
    context.fillRect(x(path.from), base + 2, Math.max(1, x(path.to) - x(path.from)), 2);
  }
  const {past} = trace.session.place;
  if (past) {
    context.fillStyle = ink.solid;
    context.fillRect(Math.round(x(trace.session.model.at)), 0, 1.5, base);
  }
}

function counts({context, ink, width, base}, {waiting, running}) {
  const part = width / waiting.length;
  const [most, full] = [waiting, running].map((values) => values.reduce((a, b) => Math.max(a, b), 1));
  context.globalAlpha = 0.5;
  context.fillStyle = ink.stuck.mark;
  waiting.forEach((value, i) => {
    const high = (value / most) * (base - 6);
    context.fillRect(i * part, base - high, part * 0.8, high);
  });
  context.globalAlpha = 1;
  context.strokeStyle = ink.settled.mark;
  context.lineWidth = 1.25;
  context.beginPath();
  running.forEach((value, i) => context.lineTo((i + 0.5) * part, base - (value / full) * (base - 5)));
  context.stroke();
}

function frame({context, ink, width, base}, left, right) {
  context.fillStyle = ink.bg;
  context.globalAlpha = 0.62;
  context.fillRect(0, 0, left, base);
  context.fillRect(right, 0, width - right, base);
  context.globalAlpha = 1;
  context.strokeStyle = ink.ink;
  context.lineWidth = 1;
  context.strokeRect(left + 0.5, 0.5, Math.max(1, right - left - 1), base);
  context.fillStyle = ink.solid;
  for (const x of [left, right - 5]) {
    context.beginPath();
    context.roundRect(x, base / 2 - 9, 5, 18, 2);
    context.fill();
  }
}
