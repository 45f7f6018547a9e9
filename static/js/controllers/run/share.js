import {RunApi} from "../../lib/api.js";

/** The button that says who may see the run, and the form that changes it. */
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
      const wish = Object.fromEntries(new FormData(form));
      const run = await new RunApi(form.dataset.run).patch("", wish);
      button.querySelector("#share-state").textContent = run.visibility;
      dialog.close();
    } catch (error) {
      problem.textContent = error.message;
    }
    save.disabled = false;
  });
}
