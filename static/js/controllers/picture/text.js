/** The lines of text that are seen on a page, where they stand and in which font. */
import {cutTo} from "../../model/picture/caption.js";

/** @type {CanvasRenderingContext2D | null} */
let measuring = null;

/** How large a text is in a font. @param {string} font as of a canvas */
function measured(text, font) {
  measuring ??= /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
  measuring.font = font;
  return measuring.measureText(text);
}

/** How wide a text is in a font, in pixels. @param {string} font as of a canvas */
export function widthIn(font) {
  return (text) => measured(text, font).width;
}

/** The font of an element as a canvas wants it. */
function fontOf(style) {
  return `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
}

/**
 * The lines of a text node as {text} and the attributes of their place, `y` being the base line.
 *
 * @param {Text} node
 * @param {CSSStyleDeclaration} style of its element
 */
export function linesOf(node, style) {
  const range = document.createRange();
  if (style.writingMode.startsWith("vertical")) return [upright(node, style, range)];
  /** @type {{text: string, left: number, top: number, height: number}[]} */
  const lines = [];
  for (const {0: word, index} of node.data.matchAll(/\s*\S+\s*/g)) {
    range.setStart(node, index);
    range.setEnd(node, index + word.length);
    const box = [...range.getClientRects()].find(({width}) => width > 0);
    if (!box) continue;
    const line = lines[lines.length - 1];
    if (line && Math.abs(line.top - box.top) < 2) line.text += word;
    else lines.push({text: word, left: box.left, top: box.top, height: box.height});
  }
  const font = fontOf(style);
  const room = roomOf(node.parentElement);
  return lines.map(({text, left, top, height}) => ({
    text: cutTo(cased(text, style), room === null ? Infinity : room - left, widthIn(font)),
    x: left.toFixed(2),
    y: (top + ascentOf(font, height)).toFixed(2),
  }));
}

/** A text along the side of what it names: from below to above where it is turned around. */
function upright(node, style, range) {
  range.selectNodeContents(node);
  const {left, top, width, height} = range.getBoundingClientRect();
  const [x, y] = [left + width / 2, top + height / 2];
  const turn = style.transform === "none" && style.rotate === "none" ? 90 : -90;
  const place = {x, y, "text-anchor": "middle", "dominant-baseline": "central", transform: `rotate(${turn} ${x} ${y})`};
  return {text: cased(node.data, style), ...place};
}

/** As it is seen: runs of spaces are one. */
function cased(text, {textTransform, whiteSpace}) {
  const plain = whiteSpace.startsWith("pre") ? text : text.replaceAll(/\s+/g, " ").trim();
  return textTransform === "uppercase" ? plain.toUpperCase() : plain;
}

/** From the top of a line to its base line. */
function ascentOf(font, height) {
  const {fontBoundingBoxAscent: above, fontBoundingBoxDescent: below} = measured("x", font);
  return (height - above - below) / 2 + above;
}

/** The right end of the element that cuts its text with "…", or null if none does. */
function roomOf(element) {
  const cutting = element?.closest(".cut, .ends");
  if (!cutting || getComputedStyle(cutting).textOverflow !== "ellipsis") return null;
  // Half a pixel is lost in rounding.
  return cutting.scrollWidth > cutting.clientWidth ? cutting.getBoundingClientRect().right + 0.5 : null;
}
