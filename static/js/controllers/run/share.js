import {RunApi} from "../../lib/api.js";

/** Connects the button that shows the visibility of a run with the dialog that changes it. */
export function connectShare(button, dialog) {
  const form = dialog.querySelector("form");
  const problem = dialog.querySelector("#share-problem");
  const save = dialog.querySelector("#share-save");

  button.addEventListener("click", () => {
    problem.textContent = "";
    dialog.showModal();
  });
  dialog.querySelector("#share-cancel").addEventListener("click", () => dialog.close());
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    save.disabled = true;
    try {
      const body = Object.fromEntries(new FormData(form));
      const run = await new RunApi(form.dataset.run).patch("", body);
      button.querySelector("#share-state").textContent = run.visibility;
      dialog.close();
    } catch (error) {
      problem.textContent = error.message;
    }
    save.disabled = false;
  });
}
