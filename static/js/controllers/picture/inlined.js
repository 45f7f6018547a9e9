/** A copy of an SVG that needs nothing of its page: styles become attributes, symbols and markers come along. */

export const SVG = "http://www.w3.org/2000/svg";

const STYLES = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-opacity",
  "stroke-dasharray",
  "stroke-linecap",
  "stroke-linejoin",
  "opacity",
  "color",
  "font-family",
  "font-size",
  "font-weight",
  "font-style",
  "letter-spacing",
  "text-anchor",
  "dominant-baseline",
  "paint-order",
  "vector-effect",
  "visibility",
  "marker-start",
  "marker-end",
];
const KEPT =
  /^(?:x|y|x1|x2|y1|y2|dx|dy|cx|cy|r|rx|ry|d|points|width|height|viewBox|preserveAspectRatio|transform|id|ref[XY]|marker(?:Width|Height|Units)|orient|offset)$/;
/** What these styles are without being said. */
const USUAL = {
  "fill-opacity": "1",
  "stroke-opacity": "1",
  "stroke-dasharray": "none",
  "stroke-linecap": "butt",
  "stroke-linejoin": "miter",
  opacity: "1",
  "font-style": "normal",
  "letter-spacing": "normal",
  "text-anchor": "start",
  "dominant-baseline": "auto",
  "paint-order": "normal",
  "vector-effect": "none",
  visibility: "visible",
  "marker-start": "none",
  "marker-end": "none",
};

/** An element of SVG with these attributes. */
export function svgElement(name, attributes = {}) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  return made;
}

/**
 * The copy of an element and what is in it, or null for one that is not seen. `defs` takes the markers that it uses.
 *
 * @param {Element} element
 * @param {SVGElement} defs
 * @returns {SVGElement | null}
 */
export function inlined(element, defs) {
  const style = getComputedStyle(element);
  if (style.display === "none" || element.localName === "title") return null;
  if (element.localName === "use") return usedSymbol(element, style);
  const copy = svgElement(element.localName);
  for (const {name, value} of element.attributes) if (KEPT.test(name)) copy.setAttribute(name, value);
  dress(copy, style, defs);
  for (const child of element.childNodes) {
    if (child instanceof Element) copy.append(...[inlined(child, defs)].filter((each) => each !== null));
    else if (child instanceof Text) copy.append(child.data);
  }
  return copy;
}

function dress(copy, style, defs) {
  for (const name of STYLES) {
    const value = style.getPropertyValue(name);
    if (value === "" || value === USUAL[name]) continue;
    if (name.startsWith("marker")) copy.setAttribute(name, marked(value, defs));
    else copy.setAttribute(name, value);
  }
}

/** A marker, such as the head of an arrow, by its address; a copy of it goes into `defs`. */
function marked(address, defs) {
  const id = address.match(/#([^")]+)/)?.[1] ?? "";
  const marker = document.getElementById(id);
  if (marker && !defs.querySelector(`#${CSS.escape(id)}`)) {
    const copy = svgElement("marker");
    for (const {name, value} of marker.attributes) if (KEPT.test(name)) copy.setAttribute(name, value);
    defs.append(copy);
    for (const child of marker.children) copy.append(shown(child, null));
  }
  return `url(#${id})`;
}

/** A `use` of the sprite as an SVG within the SVG. */
function usedSymbol(use, style) {
  const symbol = document.querySelector(use.getAttribute("href") ?? "none");
  if (!symbol) return null;
  const [width, height] = ["width", "height"].map((name) => use.getAttribute(name) ?? "100%");
  const copy = svgElement("svg", {width, height, color: style.color});
  for (const name of ["x", "y"]) if (use.hasAttribute(name)) copy.setAttribute(name, use.getAttribute(name) ?? "");
  for (const name of ["viewBox", "preserveAspectRatio"])
    if (symbol.hasAttribute(name)) copy.setAttribute(name, symbol.getAttribute(name) ?? "");
  for (const child of symbol.children) copy.append(shown(child, style.color));
  return copy;
}

/** A part of a symbol or marker: the sprite is not drawn, so its colours are those that its attributes name. */
function shown(part, current) {
  const copy = svgElement(part.localName);
  for (const {name, value} of part.attributes) copy.setAttribute(name, colourOf(value, current));
  for (const child of part.children) copy.append(shown(child, current));
  return copy;
}

function colourOf(value, current) {
  if (value === "currentColor" && current) return current;
  const token = value.match(/^var\((--[\w-]+)\)$/);
  return token ? getComputedStyle(document.documentElement).getPropertyValue(token[1]).trim() : value;
}
