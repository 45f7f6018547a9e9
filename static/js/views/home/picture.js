import {gettext} from "../../lib/words.js";
import {
  QUEUES,
  bindingPlace,
  bindingRows,
  filterCells,
  isNarrow,
  laneBox,
  nodeBoxes,
  podMarks,
  scoreBars,
  stageBoxes,
} from "../../model/home/stage.js";
import {wrapped} from "../../model/picture/caption.js";
import {nameEnds} from "../../model/shared/format.js";
import {palette} from "../timeline/palette.js";
import {drawMark} from "./marks.js";

/** How much of the way to its place a mark goes in a second: the higher, the faster. */
const SPEED = 9;

/** The picture of a run in motion, on a canvas. Marks glide to their places, unless it stands still. */
export class Picture {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    /** Where the mark of each pod is now, by name. @type {Map<string, {x: number, y: number}>} */
    this.places = new Map();
    this.marks = [];
    this.fit();
  }

  /** Take the size that the page gives it. */
  fit() {
    const ratio = devicePixelRatio || 1;
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  /** Have everything stand in its place at once, as after a jump. */
  settle() {
    this.places.clear();
  }

  /** Draw `scene`, so many seconds after the last time. */
  draw(scene, seconds) {
    this.colours = palette();
    this.narrow = isNarrow(this.width);
    const boxes = stageBoxes(this.width, this.height);
    this.context.clearRect(0, 0, this.width, this.height);
    this.#edges(boxes);
    this.#queue(boxes[0], scene);
    this.#filters(boxes[1], scene);
    this.#scores(boxes[2], scene);
    this.#binding(boxes[3], scene);
    this.#nodes(boxes[4], scene);
    this.#pods(podMarks(scene, boxes, this.narrow), seconds);
  }

  #edges(boxes) {
    const {context, colours} = this;
    context.fillStyle = colours.line;
    for (const box of boxes) {
      if (box.x > 0) context.fillRect(Math.round(box.x), box.y, 1, box.height);
      if (box.y > 0) context.fillRect(box.x, box.y, box.width, 1);
    }
    if (!this.narrow) return;
    for (const box of boxes) this.#text(box.name, box.x + 8, box.y + 15, {colour: colours.ink, strong: true});
  }

  #queue(box, scene) {
    const {colours} = this;
    for (const [i, name] of QUEUES.entries()) {
      const lane = laneBox(box, i, this.narrow);
      const count = scene.pods.filter((pod) => pod.lane === name).length;
      this.#text(name, lane.x, lane.y + 10, {colour: colours.ink3});
      this.#text(String(count), lane.x + lane.width, lane.y + 10, {colour: colours.ink, align: "right"});
      if (i === 0) continue;
      this.context.fillStyle = colours.line;
      this.context.fillRect(lane.x, Math.round(lane.y - 3), lane.width, 1);
    }
  }

  #filters(box, {attempt, nodes}) {
    if (!attempt) return;
    const {colours} = this;
    const middle = box.x + box.width / 2;
    const name = this.narrow ? attempt.pod.split("/")[1] : attempt.pod;
    this.#text(name, middle, box.y + box.head + 20, {
      colour: colours.ink,
      strong: true,
      align: "center",
      width: box.width - 12,
    });
    const look = attempt.node === null ? colours.stuck : colours.settled;
    if (attempt.refused) {
      this.#refusal(box, attempt.refused);
      return;
    }
    const words = gettext("{fit} of {all} nodes fit", {fit: attempt.fit, all: attempt.of});
    this.#text(words, middle, box.y + box.head + 36, {colour: look.ink, align: "center", width: box.width - 8});
    for (const [i, cell] of filterCells(box, nodes.length).entries()) this.#cell(cell, attempt.cells[i] ?? null);
  }

  /** What PreFilter said, which is why no node was looked at. */
  #refusal(box, reason) {
    const {context, colours} = this;
    context.font = colours.small;
    const [width, line] = [box.width - 16, 15];
    const room = Math.max(1, Math.floor((box.height - box.head - 30) / line));
    const lines = wrapped(reason, width, (text) => context.measureText(text).width).slice(0, room);
    for (const [i, text] of lines.entries())
      this.#text(text, box.x + box.width / 2, box.y + box.head + 36 + i * line, {
        colour: colours.stuck.ink,
        align: "center",
        width,
      });
  }

  /** The answer about one node; where nobody looked there is an empty frame. */
  #cell({x, y, width, height}, fits) {
    const {context, colours} = this;
    const look = fits ? colours.settled : colours.stuck;
    context.beginPath();
    context.roundRect(x, y, width, height, 3);
    context.fillStyle = fits === null ? colours.surface : look.tint;
    context.fill();
    context.lineWidth = 1;
    context.strokeStyle = colours.line;
    if (fits === null) context.stroke();
    if (fits !== null) sign(context, look.mark, x + width / 2, y + height / 2, fits);
  }

  #scores(box, {attempt}) {
    if (!attempt) return;
    const {colours} = this;
    const middle = box.x + box.width / 2;
    if (attempt.node === null) {
      this.#text(gettext("not reached"), middle, box.y + box.head + 36, {
        colour: colours.ink3,
        align: "center",
        width: box.width - 8,
      });
      return;
    }
    const words = attempt.fit === 1 ? gettext("the only one") : gettext("best of {fit}", {fit: attempt.fit});
    this.#text(attempt.node, middle, box.y + box.head + 20, {
      colour: colours.ink,
      strong: true,
      align: "center",
      width: box.width - 8,
    });
    this.#text(words, middle, box.y + box.head + 36, {colour: colours.ink3, align: "center", width: box.width - 8});
    for (const bar of scoreBars(box, attempt.scores)) this.#bar(bar);
  }

  #bar({x, y, width, height, isBest}) {
    this.context.fillStyle = isBest ? this.colours.settled.mark : this.colours.strongLine;
    this.context.beginPath();
    this.context.roundRect(x, y, width, height, 1.5);
    this.context.fill();
  }

  #binding(box, scene) {
    const {colours} = this;
    const list = scene.pods.filter((pod) => pod.lane === "binding").slice(0, bindingRows(box));
    for (const [i, pod] of list.entries()) {
      const {x, y} = bindingPlace(box, i);
      this.#text(pod.name.split("/")[1], x + 12, y + 4, {colour: colours.ink2, width: box.width - 38});
    }
    if (list.length > 0) return;
    this.#text(gettext("nobody now"), box.x + (this.narrow ? 8 : 14), box.y + box.head + 22, {
      colour: colours.ink3,
      width: box.width - 16,
    });
  }

  #nodes(box, {nodes}) {
    const {context, colours} = this;
    for (const [i, cell] of nodeBoxes(box, nodes.length, this.narrow).entries()) {
      context.beginPath();
      context.roundRect(cell.x, cell.y, cell.width, cell.height, 4);
      context.strokeStyle = colours.line;
      context.lineWidth = 1;
      context.setLineDash(nodes[i].isThere ? [] : [3, 3]);
      context.fillStyle = nodes[i].isThere ? colours.sunk : colours.surface;
      context.fill();
      context.stroke();
      context.setLineDash([]);
      if (!this.narrow)
        this.#text(nodes[i].name, cell.x + 7, cell.y + 14, {colour: colours.ink3, width: cell.width - 12});
    }
  }

  #pods(marks, seconds) {
    const share = 1 - Math.exp(-seconds * SPEED);
    const before = this.places;
    this.places = new Map();
    this.marks = marks.map((mark) => {
      const from = before.get(mark.pod.name) ?? mark;
      const [x, y] = [from.x + (mark.x - from.x) * share, from.y + (mark.y - from.y) * share];
      this.places.set(mark.pod.name, {x, y});
      drawMark(this.context, this.colours, mark.pod.state, {x, y, size: mark.size});
      return {...mark, x, y};
    });
  }

  #text(text, x, y, {colour, strong = false, align = "left", width = Infinity}) {
    const {context, colours} = this;
    context.font = strong ? colours.strong : colours.small;
    context.fillStyle = colour;
    context.textAlign = /** @type {CanvasTextAlign} */ (align);
    context.fillText(fitted(context, text, width), x, y);
    context.textAlign = "left";
  }
}

/** The text, shortened in its middle where it is too long: names differ at their ends. */
function fitted(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  const [start, end] = nameEnds(text);
  let kept = start;
  while (kept && context.measureText(`${kept}…${end}`).width > width) kept = kept.slice(0, -1);
  return kept || end ? `${kept}…${end}` : "";
}

/** A tick or a cross. */
function sign(context, colour, x, y, fits) {
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  context.beginPath();
  if (fits) {
    context.moveTo(x - 4, y);
    context.lineTo(x - 1, y + 3);
    context.lineTo(x + 4, y - 3);
  } else {
    context.moveTo(x - 2.6, y - 2.6);
    context.lineTo(x + 2.6, y + 2.6);
    context.moveTo(x + 2.6, y - 2.6);
    context.lineTo(x - 2.6, y + 2.6);
  }
  context.stroke();
}
