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
      <h2 id="pictures-title">Save a picture</h2>
      ${
        pictures.length === 0
          ? html`<p class="small soft">This page has no picture now. Print it instead.</p>`
          : html`<p class="small soft">With the run, the event and the link below it.</p>
            <ul>${pictures.map(
              (picture, place) => html`<li key=${place}><span>${picture.title}</span>
              ${picture.isVector && html`<button class="btn" type="button" aria-label=${`Save ${picture.title} as SVG`} onClick=${saving(picture, "svg")}>SVG</button>`}
              <button class="btn" type="button" aria-label=${`Save ${picture.title} as PNG`} onClick=${saving(picture, "png")}>PNG</button></li>`,
            )}</ul>`
      }
      <p class="small tinted f-stuck" role="alert">${problem}</p>
      <div class="does"><button class="btn" type="button" onClick=${printing}>Print the page</button><button class="btn primary">Close</button></div></form></dialog>`;
}

/** The button that opens it. */
export function PictureButton() {
  return html`<button class="btn icon" type="button" data-save-picture aria-haspopup="dialog" aria-label="Save a picture" title="Save a picture of this page, or print it"><svg viewBox="0 0 12 12" aria-hidden="true"><use href="#picture" /></svg></button>`;
}
