/** A drawing as a file: SVG, which names its fonts, or PNG, whose fonts are drawn. */
import {gettext} from "../../lib/words.js";
import {readDataUrl} from "../../lib/api.js";
import {svgElement} from "./inlined.js";

/** Pixels of the file for each pixel of the page. */
const SCALE = 2;

/** The drawing as a file of SVG. */
export function svgFile({svg}) {
  return new Blob([asText(svg)], {type: "image/svg+xml"});
}

/** The drawing as a file of PNG. */
export async function pngFile({svg, width, height}) {
  const whole = /** @type {SVGSVGElement} */ (svg.cloneNode(true));
  const faces = svgElement("style");
  faces.textContent = await facesOf(document.styleSheets);
  whole.prepend(faces);
  const image = await loaded(`data:image/svg+xml;charset=utf-8,${encodeURIComponent(asText(whole))}`);
  const canvas = document.createElement("canvas");
  canvas.width = width * SCALE;
  canvas.height = height * SCALE;
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    canvas.toBlob((file) => (file ? resolve(file) : reject(new Error(TOO_LARGE))), "image/png");
  });
}

/** Hand a file to the browser, which saves it under this name. */
export function save(file, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const TOO_LARGE = gettext("The picture is too large for this browser.");

function asText(svg) {
  return new XMLSerializer().serializeToString(svg);
}

/** @returns {Promise<HTMLImageElement>} */
function loaded(address) {
  return new Promise((resolve, reject) => {
    const image = new Image();
    image.onload = () => resolve(image);
    image.onerror = () => reject(new Error(TOO_LARGE));
    image.src = address;
  });
}

/** The typefaces of the page, each with its file: a picture that is drawn by itself loads nothing. */
async function facesOf(sheets) {
  const rules = [...sheets].flatMap((sheet) => [...sheet.cssRules]).filter((rule) => rule instanceof CSSFontFaceRule);
  const faces = rules.map(async ({style, parentStyleSheet}) => {
    const address = style.getPropertyValue("src").match(/url\("([^"]+)"\)/)?.[1] ?? "";
    const data = await readDataUrl(new URL(address, parentStyleSheet?.href ?? location.href).href);
    const [family, weight] = ["font-family", "font-weight"].map((name) => style.getPropertyValue(name));
    return data && `@font-face{font-family:${family};font-weight:${weight};src:url(${data})}`;
  });
  return (await Promise.all(faces)).join("\n");
}
