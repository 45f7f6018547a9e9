import {element} from "../../lib/dom.js";
import {html} from "../../lib/html.js";
import {gettext} from "../../lib/words.js";

/** The keys of every page of a run, as [keys, what they do]; see connectHotkeys. @type {[string[], string][]} */
const KEYS = [
  [["Space"], gettext("Play or pause; in the past, replay from here")],
  [["."], gettext("Step one event")],
  [["Shift ."], gettext("Step one scheduling cycle")],
  [[",", "←"], gettext("Step one event back")],
  [["→"], gettext("In the past, step one event")],
  [["Home", "End"], gettext("Go to the beginning, or to the newest event")],
  [["w"], gettext("Ask why the selected object is as it is, or go to the answer")],
  [["↑", "↓"], gettext("Move between the pods of the queue")],
  [["c"], gettext("Copy the link to this instant")],
  [[gettext("Ctrl K"), "/"], gettext("Go to a page, an object or an event by its name or number")],
  [["?"], gettext("Show these keys")],
];

/** The dialog that lists the keyboard shortcuts; keys of the page's `own` come first, and take the place of others. */
export function KeysDialog({own = []}) {
  const taken = new Set(own.flatMap(([keys]) => keys));
  const listed = [...own, ...KEYS.filter(([keys]) => !keys.some((key) => taken.has(key)))];
  return html`
    <dialog class="dialog" id="keys-dialog" aria-labelledby="keys-title"><form method="dialog">
      <h2 id="keys-title">${gettext("Keyboard shortcuts")}</h2>
      <dl class="keylist small">${listed.map(
        ([keys, words]) =>
          html`<dt key=${words}>${keys.map((key) => html`<kbd key=${key}>${key}</kbd> `)}</dt><dd>${words}</dd>`,
      )}</dl>
      <div class="does"><button class="btn primary">${gettext("Close")}</button></div></form></dialog>`;
}

/** The button that opens the dialog. */
export function KeysButton() {
  const open = () => element("#keys-dialog", {kind: HTMLDialogElement}).showModal();
  return html`<button class="btn icon" aria-haspopup="dialog" aria-label=${gettext("Keyboard shortcuts")} title=${gettext("Keyboard shortcuts (key: ?)")} onClick=${open}>?</button>`;
}
