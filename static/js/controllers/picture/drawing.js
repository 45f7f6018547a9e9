/** A part of a page as one SVG: boxes, text, SVG and canvas, as they are seen at this moment. */
import {captionOf, wrapped} from "../../model/picture/caption.js";
import {inlined, svgElement} from "./inlined.js";
import {linesOf, widthIn} from "./text.js";

const MARGIN = 16;
/** The caption has room for its text. */
const NARROWEST = 480;
const SIZE = 12;
const LINE = 17;

/**
 * Draw the element, and below it `title`, where it is from, and the link to there.
 *
 * @param {Element} element
 * @param {{title: string, link: string, page: string, run?: any, seq?: number | null, at?: number | null}} about
 * @returns {{svg: SVGSVGElement, width: number, height: number, isVector: boolean}}
 */
export function drawingOf(element, about) {
  const box = element.getBoundingClientRect();
  const width = Math.ceil(Math.max(box.width, NARROWEST)) + 2 * MARGIN;
  const defs = svgElement("defs");
  const drawn = svgElement("g", {transform: `translate(${MARGIN - box.left} ${MARGIN - box.top})`});
  const drawing = {defs, clips: 0, isVector: true};
  draw(element, drawn, drawing);
  const caption = captionLines(about, width - 2 * MARGIN, MARGIN + Math.ceil(box.height) + LINE + 4);
  const height = MARGIN + Math.ceil(box.height) + LINE * (caption.childElementCount + 1);
  const svg = /** @type {SVGSVGElement} */ (
    svgElement("svg", {width, height, viewBox: [0, 0, width, height].join(" ")})
  );
  svg.append(defs, svgElement("rect", {width, height, fill: groundOf(element)}), drawn, caption);
  return {svg, width, height, isVector: drawing.isVector};
}

function captionLines(about, most, top) {
  const style = getComputedStyle(document.body);
  const [strong, plain] = ["600", "400"].map((weight) => [weight, `${SIZE}px`, style.fontFamily].join(" "));
  const lines = [
    ...wrapped(about.title, most, widthIn(strong)).map((text) => ({text, weight: 600})),
    ...wrapped(captionOf(about), most, widthIn(plain)).map((text) => ({text, weight: 400})),
    ...wrapped(about.link, most, widthIn(plain)).map((text) => ({text, weight: 400})),
  ];
  const group = svgElement("g", {"font-family": style.fontFamily, "font-size": SIZE, fill: style.color});
  for (const [place, {text, weight}] of lines.entries()) {
    const line = svgElement("text", {x: MARGIN, y: top + place * LINE, "font-weight": weight});
    line.textContent = text;
    group.append(line);
  }
  return group;
}

/** The colour behind an element. */
function groundOf(element) {
  for (let at = element; at; at = at.parentElement) {
    const {backgroundColor} = getComputedStyle(at);
    if (isSeen(backgroundColor)) return backgroundColor;
  }
  return "white";
}

function isSeen(colour) {
  return colour !== "" && colour !== "transparent" && !/^rgba\(.*, 0\)$/.test(colour);
}

/** Draw an element into a group, and what is in it. */
function draw(element, group, drawing) {
  const style = getComputedStyle(element);
  const box = element.getBoundingClientRect();
  if (style.display === "none" || style.visibility === "hidden" || isHidden(box, style)) return;
  if (element instanceof SVGSVGElement) drawSvg(element, box, group, drawing);
  else if (element instanceof HTMLCanvasElement) drawCanvas(element, box, group, drawing);
  else drawHtml(element, style, box, group, drawing);
}

function drawHtml(element, style, box, group, drawing) {
  drawBox(style, box, group);
  const inner = innerOf(element, style, box, group, drawing);
  for (const child of element.childNodes) {
    if (child instanceof Element) draw(child, inner, drawing);
    else if (child instanceof Text && child.data.trim() !== "") drawText(child, style, inner);
  }
}

/** What is only for readers of the screen. */
function isHidden(box, style) {
  return box.width <= 1 && box.height <= 1 && style.overflow === "hidden";
}

/** The group for what is in an element: one of its own where that is cut or pale. */
function innerOf(element, style, box, group, drawing) {
  const isCut = style.overflowX !== "visible" || style.overflowY !== "visible";
  const isLarger = element.scrollWidth > element.clientWidth + 1 || element.scrollHeight > element.clientHeight + 1;
  if (!(isCut && isLarger) && style.opacity === "1") return group;
  const inner = svgElement("g", style.opacity === "1" ? {} : {opacity: style.opacity});
  group.append(inner);
  if (!(isCut && isLarger)) return inner;
  drawing.clips += 1;
  const clip = svgElement("clipPath", {id: `clip-${drawing.clips}`});
  clip.append(svgElement("rect", {x: box.left, y: box.top, width: box.width, height: box.height}));
  drawing.defs.append(clip);
  inner.setAttribute("clip-path", `url(#clip-${drawing.clips})`);
  return inner;
}

function drawSvg(element, box, group, {defs}) {
  const copy = inlined(element, defs);
  if (!copy) return;
  const place = {x: box.left, y: box.top, width: box.width, height: box.height};
  for (const [name, value] of Object.entries(place)) copy.setAttribute(name, String(value));
  group.append(copy);
}

function drawCanvas(canvas, box, group, drawing) {
  if (canvas.width === 0 || canvas.height === 0 || box.width === 0) return;
  drawing.isVector = false;
  const {left: x, top: y, width, height} = box;
  group.append(svgElement("image", {x, y, width, height, href: canvas.toDataURL(), preserveAspectRatio: "none"}));
}

function drawBox(style, box, group) {
  const sides = ["Top", "Right", "Bottom", "Left"].map((side) => ({
    width: style[`border${side}Style`] === "none" ? 0 : parseFloat(style[`border${side}Width`]),
    colour: style[`border${side}Color`],
    dash: style[`border${side}Style`],
  }));
  const [first] = sides;
  const isWhole = first.width > 0 && sides.every(({width, colour}) => width === first.width && colour === first.colour);
  const fill = fillOf(style);
  const half = isWhole ? first.width / 2 : 0;
  if (fill || isWhole) {
    const rect = svgElement("rect", {
      x: box.left + half,
      y: box.top + half,
      width: Math.max(0, box.width - 2 * half),
      height: Math.max(0, box.height - 2 * half),
      rx: Math.min(parseFloat(style.borderTopLeftRadius) || 0, box.width / 2, box.height / 2),
      fill: fill || "none",
    });
    if (isWhole) strokeOf(rect, first);
    group.append(rect);
  }
  if (!isWhole) drawSides(sides, box, group);
}

/** The colour of a box; that of a hatched one is the first of its pattern. */
function fillOf({backgroundColor, backgroundImage}) {
  if (isSeen(backgroundColor)) return backgroundColor;
  const colours = backgroundImage.startsWith("none")
    ? []
    : (backgroundImage.match(/(?:rgba?|color|oklch|oklab)\([^)]*\)/g) ?? []);
  return colours.find(isSeen) ?? "";
}

function strokeOf(line, {width, colour, dash}) {
  line.setAttribute("stroke", colour);
  line.setAttribute("stroke-width", String(width));
  if (dash === "dashed" || dash === "dotted") line.setAttribute("stroke-dasharray", `${width * 2} ${width * 2}`);
}

/** @param {any} sides top, right, bottom and left */
function drawSides([top, right, bottom, left], box, group) {
  const ends = [
    [top, box.left, box.top + top.width / 2, box.right, box.top + top.width / 2],
    [right, box.right - right.width / 2, box.top, box.right - right.width / 2, box.bottom],
    [bottom, box.left, box.bottom - bottom.width / 2, box.right, box.bottom - bottom.width / 2],
    [left, box.left + left.width / 2, box.top, box.left + left.width / 2, box.bottom],
  ];
  for (const [side, x1, y1, x2, y2] of ends) {
    if (side.width === 0 || !isSeen(side.colour)) continue;
    const line = svgElement("line", {x1, y1, x2, y2});
    strokeOf(line, side);
    group.append(line);
  }
}

function drawText(node, style, group) {
  if (!isSeen(style.color)) return;
  for (const {text, ...place} of linesOf(node, style)) {
    const line = svgElement("text", {
      ...place,
      fill: style.color,
      "font-family": style.fontFamily,
      "font-size": style.fontSize,
      "font-weight": style.fontWeight,
    });
    if (style.fontStyle !== "normal") line.setAttribute("font-style", style.fontStyle);
    if (style.letterSpacing !== "normal") line.setAttribute("letter-spacing", style.letterSpacing);
    if (style.textDecorationLine === "line-through") line.setAttribute("text-decoration", "line-through");
    line.textContent = text;
    group.append(line);
  }
}
