/** The lanes of a timeline on a canvas: bars, areas, marks, the path, and arrows between its rows. */
import {stepTitle} from "../../model/run/path.js";
import {duration, tick, timeText} from "../../model/shared/format.js";
import {LOOKS, stateTitle} from "../../model/timeline/look.js";
import {ROW, eventLine, spread, stageMark, stageText} from "../../model/timeline/rows.js";
import {pixelOf} from "../../model/timeline/window.js";
import {placeWords} from "../../model/timeline/words.js";
import {roundMoments} from "../../model/timeline/ticks.js";
import {palette} from "./palette.js";

/** The height of the axis above the rows. */
export const AXIS = 26;
/** How pale what is ahead of the play head is. */
const AHEAD = 0.3;
/** Rows of sentences. */
const SAID = new Set(["stage", "event"]);
/** A label is drawn in a bar that is this much wider. */
const ROOM = 10;

/**
 * Draw what is in sight: `answer` with its rows, of which the first one in sight is `top` pixels below the first of
 * all. `at` is the play head, null at the newest event.
 */
export function paintLanes(canvas, scene) {
  const {width, height} = scene;
  const scale = devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  const ink = palette();
  const brush = {...scene, context, ink, x: (at) => pixelOf(at, scene.window, width)};
  context.fillStyle = ink.bg;
  context.fillRect(0, 0, width, height);
  const places = placed(brush);
  grounds(brush, places);
  const inSight = places.filter(({y}) => y + ROW > AXIS && y < height);
  const [later, first] = [true, false].map((isSaid) => inSight.filter(({row}) => SAID.has(row.kind) === isSaid));
  for (const place of first) paintRow(brush, place);
  guides(brush, places);
  arrows(brush, places);
  unread(brush);
  ahead(brush);
  // What they say is of the instant shown, also where it is written further right.
  for (const place of later) paintRow(brush, place);
  axis(brush);
}

/** The rows of the answer with their place on the canvas. */
function placed({answer, top}) {
  return answer.rows.map((row, i) => ({row, y: AXIS + (answer.first + i) * ROW - top}));
}

function grounds(brush, places) {
  const {context, ink, width, height, window} = brush;
  for (const {row, y} of places) {
    const fill = row.kind === "section" ? ink.surface : row.chosen ? ink.sel : row.kind === "event" ? ink.sunk : null;
    if (!fill) continue;
    context.fillStyle = fill;
    context.fillRect(0, y, width, ROW);
  }
  context.fillStyle = ink.line;
  for (const at of roundMoments(window, width)) context.fillRect(Math.round(brush.x(at)), AXIS - 5, 1, height);
  for (const {row, y} of places) if (row.kind === "section") context.fillRect(0, y + ROW - 1, width, 1);
}

const PAINTERS = {
  path: pathStrip,
  stage: stageRow,
  event: eventRow,
  stages: stageDots,
};

function paintRow(brush, place) {
  const {row, y} = place;
  if (row.area) area(brush, row, y);
  PAINTERS[row.kind]?.(brush, place);
  const size = row.chosen ? 14 : row.in_path ? 13 : 11;
  for (const bar of row.bars)
    paintBar(brush, bar, {y: y + (ROW - size) / 2, size, named: row.in_path || row.kind === "pod"});
  for (const bar of row.nominated) ghost(brush, bar, y + ROW - 2);
  for (const mark of row.marks) diamond(brush, brush.x(mark.at), y + ROW / 2, brush.ink.ink);
}

function paintBar(brush, bar, {y, size, named}) {
  const {context, ink, onlyEvents, answer, width} = brush;
  const look = LOOKS[bar.state];
  if (!look) return;
  const left = Math.max(brush.x(bar.start), -4);
  const right = Math.min(brush.x(bar.end ?? answer.head_at), width + 4);
  if (right < 0 || left > width) return;
  const long = Math.max(right - left, 1.5);
  context.globalAlpha = onlyEvents ? 0.4 : 1;
  const colour = ink[look.family];
  if (look.shape === "line") {
    context.globalAlpha *= 0.75;
    context.fillStyle = colour.mark;
    context.fillRect(left, y + size / 2 - 1, long, 2);
  } else {
    block(brush, {left, y, long, size}, look);
    if (bar.end === null && brush.isLive) openEnd(brush, {left, y, long, size}, colour.mark);
    if (named && !onlyEvents) barName(brush, bar, {left, y, long, size}, look);
  }
  context.globalAlpha = 1;
}

/** A promise: a dashed line below the bars. */
function ghost(brush, {start, end}, y) {
  const {context, ink, answer} = brush;
  context.setLineDash([3, 2]);
  context.strokeStyle = ink.promised.mark;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(brush.x(start), y + 0.5);
  context.lineTo(brush.x(end ?? answer.head_at), y + 0.5);
  context.stroke();
  context.setLineDash([]);
}

function block({context, ink}, {left, y, long, size}, {family, shape}) {
  const colour = ink[family];
  context.beginPath();
  context.roundRect(left, y, long, size, Math.min(2, long / 2));
  context.fillStyle =
    shape === "solid" || long <= 3 ? colour.mark : shape === "hatch" ? hatch(context, colour) : colour.tint;
  context.fill();
  if (shape === "solid" || long <= 3) return;
  if (shape === "tint") {
    const before = context.globalAlpha;
    context.globalAlpha = before * 0.2;
    context.fillStyle = colour.mark;
    context.fill();
    context.globalAlpha = before;
  }
  context.strokeStyle = colour.mark;
  context.lineWidth = shape === "hatch" ? 1.25 : 0.75;
  context.stroke();
}

/** A bar that is not over yet is striped at its end. */
function openEnd({context}, {left, y, long, size}, colour) {
  context.save();
  context.beginPath();
  context.rect(Math.max(left, left + long - 14), y, Math.min(14, long), size);
  context.clip();
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  context.beginPath();
  for (let x = left + long - 18; x < left + long + size; x += 5) {
    context.moveTo(x, y + size);
    context.lineTo(x + size, y);
  }
  context.stroke();
  context.restore();
}

function barName({context, ink}, bar, {left, y, long, size}, {family, shape}) {
  const text = stateTitle(bar.state);
  const begin = Math.max(left, 0);
  context.font = ink.small;
  const wide = context.measureText(text).width;
  if (wide + ROOM > left + long - begin || bar.states > 1) return;
  if (shape === "hatch") {
    context.fillStyle = ink[family].tint;
    context.fillRect(begin + 3, y + 1.5, wide + 5, size - 3);
  }
  context.fillStyle = shape === "solid" ? ink.surface : ink[family].ink;
  context.fillText(text, begin + 5, y + size / 2 + 3.5);
}

const hatches = new Map();

/** The pattern of what is leaving, made once for each colour. */
function hatch(context, {tint, mark}) {
  const key = `${tint} ${mark}`;
  if (!hatches.has(key)) hatches.set(key, context.createPattern(hatchTile(tint, mark), "repeat"));
  return hatches.get(key);
}

function hatchTile(tint, mark) {
  const tile = document.createElement("canvas");
  tile.width = 8;
  tile.height = 8;
  const pen = /** @type {CanvasRenderingContext2D} */ (tile.getContext("2d"));
  pen.fillStyle = tint;
  pen.fillRect(0, 0, 8, 8);
  pen.strokeStyle = mark;
  pen.globalAlpha = 0.4;
  pen.lineWidth = 2;
  pen.beginPath();
  for (const x of [-8, 0, 8]) {
    pen.moveTo(x - 2, 10);
    pen.lineTo(x + 10, -2);
  }
  pen.stroke();
  return tile;
}

/** Waiting and leaving as areas, running as a line; or events as ticks. */
function area({context, ink, width}, {area: counts, kind, key}, y) {
  const top = y + 2;
  const high = ROW - 4;
  if (kind === "component" || kind === "kind") {
    columns(context, spread(counts.events), {
      top,
      high,
      width,
      colour: ink.by(key.split(/[:/]/)[1]),
      alpha: 0.9,
      most: 1,
    });
    return;
  }
  const [waiting, leaving, running] = [counts.waiting, counts.leaving, counts.running].map(spread);
  const most = Math.max(4, maxOf(waiting) + maxOf(leaving));
  columns(context, waiting, {top, high, width, colour: ink.stuck.mark, alpha: 0.55, most});
  columns(context, leaving, {top, high, width, colour: ink.stuck.mark, alpha: 0.25, most, on: waiting});
  if (kind === "node") {
    columns(context, running, {top, high, width, colour: ink.settled.mark, alpha: 0.3, most: 12});
    return;
  }
  context.globalAlpha = 0.8;
  context.fillStyle = ink.settled.mark;
  const full = Math.max(1, maxOf(running));
  const part = width / Math.max(1, running.length);
  running.forEach((value, i) => {
    if (value) context.fillRect(i * part, top + high - (value / full) * (high - 2) - 1, part + 0.5, 1.25);
  });
  context.globalAlpha = 1;
}

function columns(context, values, {top, high, width, colour, alpha, most, on = /** @type {number[]} */ ([])}) {
  const part = width / Math.max(1, values.length);
  const full = Math.max(most, maxOf(values));
  context.fillStyle = colour;
  context.globalAlpha = alpha;
  values.forEach((value, i) => {
    if (!value) return;
    const long = Math.max(1.5, (value / full) * high);
    context.fillRect(i * part, top + high - long - ((on[i] ?? 0) / full) * high, part, long);
  });
  context.globalAlpha = 1;
}

function maxOf(values) {
  return values.reduce((most, value) => Math.max(most, value), 0);
}

function pathStrip(brush, {y}) {
  const {context, ink, path} = brush;
  for (const step of path?.steps ?? []) {
    const left = brush.x(step.from);
    const long = Math.max(brush.x(step.to) - left - 1, 1.5);
    if (left + long < 0 || left > brush.width) continue;
    context.fillStyle = ink[step.family].ink;
    context.beginPath();
    context.roundRect(left, y + 1, long, ROW - 2, Math.min(3, long / 2));
    context.fill();
    context.fillStyle = ink.surface;
    const begin = Math.max(left, 0);
    const room = left + long - begin - 12;
    const [name, length] = [stepTitle(step), duration(step.to - step.from)];
    context.font = ink.strong;
    const text = [`${name}  ${length}`, name, length].find((each) => context.measureText(each).width < room);
    if (text) context.fillText(text, begin + 6, y + ROW / 2 + 4);
  }
}

function stageDots(brush, {y}) {
  const {context, ink, answer} = brush;
  for (const {stage} of answer.rows.filter(({kind}) => kind === "stage")) {
    if (stage.name !== "attempt" || stage.end === null) continue;
    context.fillStyle = ink[stageMark(stage).family].mark;
    context.beginPath();
    context.arc(brush.x(stage.end), y + ROW / 2, 2.5, 0, 7);
    context.fill();
  }
}

function stageRow(brush, {row: {stage}, y}) {
  const {context, ink, answer, at} = brush;
  const left = brush.x(stage.start);
  const right = brush.x(stage.end ?? at ?? answer.head_at);
  const family = {attempt: "working", bind: "promised", start: "settled"}[stage.name] ?? "held";
  context.fillStyle = ink[family].mark;
  context.fillRect(left, y + 6, Math.max(right - left, 2), ROW - 12);
  const evicts = stage.victims.length > 0;
  context.fillStyle = stage.node ? ink.settled.ink : evicts ? ink.stuck.ink : ink.ink2;
  beside(brush, stageText(stage), {left, right: Math.max(right, left + 2), y});
}

function eventRow(brush, {row: {event}, y}) {
  const {ink, context} = brush;
  diamond(brush, brush.x(event.at), y + ROW / 2, event.kubernetes ? ink.ink : ink.ink3);
  context.fillStyle = event.kubernetes ? ink.ink : ink.ink3;
  const x = brush.x(event.at);
  beside(brush, eventLine(event), {left: x - 4, right: x + 4, y});
}

/** A text after what is drawn from left to right; where it does not fit there, before it, or cut. */
function beside({context, ink, width}, text, {left, right, y}) {
  context.font = ink.small;
  const after = Math.max(right, 0) + 6;
  const before = Math.min(left, width) - 6;
  const long = context.measureText(text).width;
  const isAfter = after + long <= width - 4 || width - after >= before;
  const shown = cutTo(context, text, (isAfter ? width - after : before) - 4);
  const x = isAfter ? after : before - context.measureText(shown).width;
  context.fillText(shown, x, y + ROW / 2 + 3.5);
}

/** The text, cut with an ellipsis to so many pixels. */
function cutTo(context, text, room) {
  const long = context.measureText(text).width;
  if (long <= room) return text;
  return `${text.slice(0, Math.max(1, Math.floor((text.length * room) / long) - 1))}…`;
}

function diamond({context}, x, y, colour) {
  context.fillStyle = colour;
  context.beginPath();
  context.moveTo(x, y - 4.5);
  context.lineTo(x + 4.5, y);
  context.lineTo(x, y + 4.5);
  context.lineTo(x - 4.5, y);
  context.fill();
}

/** Thin lines from the steps of the path down to the rows that they name. */
function guides(brush, places) {
  const {context, ink, path} = brush;
  const strip = places.find(({row}) => row.kind === "path");
  const last = places.findLast(({row}) => row.in_path);
  if (!strip || !last || !path) return;
  context.setLineDash([1, 3]);
  context.globalAlpha = 0.4;
  for (const step of path.steps) {
    const x = Math.round(brush.x(step.from)) + 0.5;
    context.strokeStyle = ink[step.family].mark;
    context.beginPath();
    context.moveTo(x, strip.y + ROW);
    context.lineTo(x, last.y + ROW);
    context.stroke();
  }
  context.setLineDash([]);
  context.globalAlpha = 1;
}

/** What led to what: along the path, and to the bar under the pointer. */
function arrows(brush, places) {
  const {answer, cause} = brush;
  const rows = new Map(places.filter(({row}) => row.in_path).map((place) => [place.row.key, place.y]));
  const said = new Set();
  const words = [];
  for (const arrow of answer.arrows) {
    const word = said.has(`${arrow.word} ${arrow.from_at}`) ? "" : arrow.word;
    said.add(`${arrow.word} ${arrow.from_at}`);
    words.push(paintArrow(brush, rows, {...arrow, word}));
  }
  if (cause?.from_row && cause.from_row !== cause.to_row) {
    const all = new Map(places.map(({row, y}) => [row.key, y]));
    words.unshift(paintArrow(brush, all, cause));
  }
  arrowWords(brush, words.filter(Boolean));
}

/** Paint an arrow, and return its word and where that belongs. */
function paintArrow(brush, rows, {word, from_row: from, from_at: begun, to_row: to, to_at: ended}) {
  if (!rows.has(from) || !rows.has(to)) return null;
  const {context, ink} = brush;
  const down = rows.get(to) > rows.get(from);
  const [x1, x2] = [brush.x(begun), brush.x(ended)];
  const y1 = rows.get(from) + ROW / 2 + (down ? 7 : -7);
  const y2 = rows.get(to) + ROW / 2 + (down ? -8 : 8);
  context.strokeStyle = ink.ink;
  context.fillStyle = ink.ink;
  context.lineWidth = 1.25;
  context.globalAlpha = 0.75;
  context.beginPath();
  context.moveTo(x1, y1);
  if (Math.abs(x1 - x2) < 2) context.lineTo(x2, y2);
  else context.bezierCurveTo(x1, y1 + (y2 - y1) * 0.55, x2, y2 - (y2 - y1) * 0.55, x2, y2);
  context.stroke();
  const head = down ? -5 : 5;
  context.beginPath();
  context.moveTo(x2, y2);
  context.lineTo(x2 - 3.2, y2 + head);
  context.lineTo(x2 + 3.2, y2 + head);
  context.fill();
  context.globalAlpha = 1;
  // Beside the row above there is no room for a word.
  const isBeside = Math.abs(rows.get(to) - rows.get(from)) <= ROW;
  if (!word || (isBeside && word === "evicts")) return null;
  return {word, x: x2, y: y2 + (down ? -9 : 15), isLeft: !down && word === "room"};
}

function arrowWords({context, ink, width}, words) {
  context.font = ink.small;
  const measured = words.map((each) => ({...each, wide: context.measureText(each.word).width}));
  for (const {word, left, y, wide} of placeWords(measured, width)) {
    context.globalAlpha = 0.9;
    context.fillStyle = ink.bg;
    context.fillRect(left - 2, y - 9, wide + 4, 12);
    context.globalAlpha = 1;
    context.fillStyle = ink.ink2;
    context.fillText(word, left, y);
  }
}

/** What of a long history was not read yet is not drawn. */
function unread({context, ink, answer, x, width, height}) {
  if (answer.read >= answer.head) return;
  const left = Math.max(0, x(answer.read_at));
  context.fillStyle = hatch(context, {tint: ink.sunk, mark: ink.line});
  context.fillRect(left, AXIS, Math.max(0, width - left), height);
}

/** What is ahead of the play head is pale. */
function ahead(brush) {
  const {context, ink, at, width, height} = brush;
  if (at === null) return;
  const x = brush.x(at);
  if (x < width) {
    context.globalAlpha = 1 - AHEAD;
    context.fillStyle = ink.bg;
    context.fillRect(Math.max(x, 0), AXIS, width - Math.max(x, 0), height);
    context.globalAlpha = 1;
  }
  context.fillStyle = ink.solid;
  context.fillRect(Math.round(x), 0, 1.5, height);
}

function axis(brush) {
  const {context, ink, width, window, path, cross} = brush;
  context.fillStyle = ink.surface;
  context.fillRect(0, 0, width, AXIS - 1);
  context.fillStyle = ink.strongLine;
  context.fillRect(0, AXIS - 1, width, 1);
  context.font = ink.small;
  context.textAlign = "center";
  context.fillStyle = ink.ink3;
  for (const at of roundMoments(window, width)) {
    context.fillRect(Math.round(brush.x(at)), AXIS - 5, 1, 4);
    const text = tick(at, window.end, window.start);
    const half = context.measureText(text).width / 2;
    context.fillText(text, Math.min(Math.max(brush.x(at), half + 2), width - half - 2), 15);
  }
  context.textAlign = "left";
  if (path) {
    const [left, right] = [brush.x(path.from), brush.x(path.to)];
    context.fillStyle = ink.ink;
    context.fillRect(left, AXIS - 4, right - left, 3);
  }
  flag(brush, brush.at);
  flag(brush, cross);
}

/** A moment on the axis: the play head, or where the pointer is. */
function flag(brush, at) {
  if (at === null || at === undefined) return;
  const {context, ink, width, height} = brush;
  const text = timeText(at);
  context.font = ink.strong;
  const wide = context.measureText(text).width + 8;
  const x = brush.x(at);
  if (x < 0 || x > width) return;
  const left = Math.min(Math.max(x - wide / 2, 0), width - wide);
  context.fillStyle = ink.solid;
  context.fillRect(left, 3, wide, 16);
  context.globalAlpha = 0.35;
  context.fillRect(Math.round(x), AXIS, 1, height);
  context.globalAlpha = 1;
  context.fillStyle = ink.surface;
  context.fillText(text, left + 4, 15);
}
