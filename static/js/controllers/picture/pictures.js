/** Saves the pictures of a page: what has the attribute `data-picture`, which names it. */
import {h, render} from "preact";

import {captionOf, fileName} from "../../model/picture/caption.js";
import {PictureDialog} from "../../views/picture/picture_dialog.js";
import {drawingOf} from "./drawing.js";
import {pngFile, save, svgFile} from "./file.js";

/** Where the page is in a run, and the link to there. @typedef {{run?: any, seq?: number, at?: number, link?: string}} Place */

/** @type {() => Place} */
let placeOfPage = () => ({});

/** What the pictures of this page show is there. @param {() => Place} place */
export function tellPlace(place) {
  placeOfPage = place;
}

/** The place of a session: the event that it shows. @returns {Place} */
export function placeOf(session) {
  const run = session.run.value;
  if (session.isWaiting) return {run};
  const {seq} = session.place;
  return {run, seq, at: session.model.at, link: session.hrefAt(seq)};
}

/** Connect the buttons that offer the pictures of the page, and what is printed. */
export function connectPictures() {
  document.addEventListener("click", ({target}) => {
    if (target instanceof Element && target.closest("[data-save-picture]")) offerPictures();
  });
  connectPrinter();
}

/** On paper a page is light, and says where it is from. */
function connectPrinter() {
  const caption = document.createElement("p");
  caption.className = "printcaption";
  document.body.append(caption);
  const {dataset} = document.documentElement;
  let theme = dataset.theme;
  addEventListener("beforeprint", () => {
    const about = aboutPage();
    caption.textContent = `${captionOf(about)}\n${about.link}`;
    theme = dataset.theme;
    dataset.theme = "light";
  });
  addEventListener("afterprint", () => {
    dataset.theme = theme;
  });
}

/** Open the dialog that saves each picture of the page, or prints all of it. */
export function offerPictures() {
  if (document.querySelector("dialog[open]")) return;
  const host = document.body.appendChild(document.createElement("div"));
  const onClose = () => {
    render(null, host);
    host.remove();
  };
  const pictures = picturesOf(document).map(({title, element}, place) => ({
    title,
    isVector: element.localName !== "canvas" && !element.querySelector("canvas"),
    onSave: (kind) => savePicture(place, kind),
  }));
  render(h(PictureDialog, {pictures, onClose, onPrint: () => print()}), host);
}

/** The pictures that are seen, as {title, element}. @param {ParentNode} within */
function picturesOf(within) {
  return [...within.querySelectorAll("[data-picture]")]
    .filter((element) => element.getBoundingClientRect().height > 0)
    .map((element) => ({title: element.getAttribute("data-picture") ?? "", element}));
}

/** Save the picture in a place, as it is now. Raises an Error whose message is for people. */
async function savePicture(place, kind) {
  const found = picturesOf(document)[place];
  if (!found) throw new Error("This picture is not on the page any more.");
  const about = {...aboutPage(), title: found.title};
  const drawing = drawingOf(found.element, about);
  const file = kind === "svg" ? svgFile(drawing) : await pngFile(drawing);
  save(file, `${fileName(about)}.${kind}`);
}

/** Where the page is from: its name, the run and the instant, and the link to just this. */
function aboutPage() {
  const {link, ...place} = placeOfPage();
  const page = document.title.split(" · ")[0];
  return {page, ...place, link: new URL(link || location.href, location.href).href};
}
