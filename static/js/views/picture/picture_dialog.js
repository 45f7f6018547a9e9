import {gettext} from "../../lib/words.js";
import {useEffect, useRef, useState} from "preact/hooks";

import {html} from "../../lib/html.js";

/** Saves each of the `pictures` of a page, {title, isVector, onSave}, or prints the page. */
export function PictureDialog({pictures, onClose, onPrint}) {
  /** @type {{current: any}} */
  const dialog = useRef(null);
  const [problem, setProblem] = useState("");
  useEffect(() => dialog.current.showModal(), []);
  const saving = (picture, kind) => async () => {
    setProblem("");
    await picture.onSave(kind).catch(({message}) => setProblem(message));
  };
  const printing = () => {
    dialog.current.close();
    onPrint();
  };
  return html`
    <dialog class="dialog pictures" aria-labelledby="pictures-title" ref=${dialog} onClose=${onClose}><form method="dialog">
      <h2 id="pictures-title">${gettext("Save a picture")}</h2>
      ${
        pictures.length === 0
          ? html`<p class="small soft">${gettext("This page has no picture now. Print it instead.")}</p>`
          : html`<p class="small soft">${gettext("With the run, the event and the link below it.")}</p>
            <ul>${pictures.map(
              (picture, place) => html`<li key=${place}><span>${picture.title}</span>
              ${picture.isVector && html`<button class="btn" type="button" aria-label=${gettext("Save {title} as SVG", {title: picture.title})} onClick=${saving(picture, "svg")}>SVG</button>`}
              <button class="btn" type="button" aria-label=${gettext("Save {title} as PNG", {title: picture.title})} onClick=${saving(picture, "png")}>PNG</button></li>`,
            )}</ul>`
      }
      <p class="small tinted f-stuck" role="alert">${problem}</p>
      <div class="does"><button class="btn" type="button" onClick=${printing}>${gettext("Print the page")}</button><button class="btn primary">${gettext("Close")}</button></div></form></dialog>`;
}

/** The button that opens it. */
export function PictureButton() {
  return html`<button class="btn icon" type="button" data-save-picture aria-haspopup="dialog" aria-label=${gettext("Save a picture")} title=${gettext("Save a picture of this page, or print it")}><svg viewBox="0 0 12 12" aria-hidden="true"><use href="#picture" /></svg></button>`;
}
