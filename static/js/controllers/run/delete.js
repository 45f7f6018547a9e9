import {RunApi} from "../../lib/api.js";
import {gettext} from "../../lib/words.js";
import {deletionOf} from "../../model/run/deletion.js";

/** A run may have millions of events. */
const DELETE_MS = 120_000;

/**
 * Connects the buttons of a page that delete a run with the dialog that asks first. `onDeleted` is called when the
 * run is gone. A page without such buttons has no dialog.
 */
export function connectDelete(page, onDeleted) {
  const dialog = page.querySelector("#delete-dialog");
  if (!dialog) return;
  const [title, lines, problem, cancel, confirm] = ["title", "lines", "problem", "cancel", "confirm"].map((name) =>
    dialog.querySelector(`#delete-${name}`),
  );
  /** The API of the run that is asked about. @type {RunApi} */
  let api;

  /** Do it with the button disabled; a failure is shown, and the button enabled again where it may help. */
  const guard = async (doing, mayRepeat) => {
    problem.textContent = "";
    confirm.disabled = true;
    try {
      await doing();
      confirm.disabled = false;
    } catch (error) {
      problem.textContent = error.message;
      confirm.disabled = !mayRepeat;
    }
  };

  const ask = async (id) => {
    api = new RunApi(id);
    title.textContent = gettext("Delete run #{id}?", {id});
    lines.replaceChildren();
    dialog.showModal();
    await guard(async () => {
      const question = deletionOf(await api.get(""));
      if (api.base !== new RunApi(id).base) return; // another one was asked for meanwhile
      title.textContent = question.title;
      lines.replaceChildren(...question.lines.map(paragraph));
    }, false);
  };

  for (const button of page.querySelectorAll("[data-delete]")) {
    button.addEventListener("click", () => ask(button.dataset.delete));
  }
  cancel.addEventListener("click", () => dialog.close());
  dialog.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    guard(async () => {
      await api.delete("", {longestMs: DELETE_MS});
      onDeleted();
    }, true);
  });
}

function paragraph(text) {
  const element = document.createElement("p");
  element.textContent = text;
  return element;
}
