import {RunApi} from "../../lib/api.js";
import {PARTS, budgetChanges, fieldText, usedText} from "../../model/run/budget.js";

const WRONG = {
  events: "Events must be a whole number.",
  objects: "Objects must be a whole number.",
  time: "Virtual time must be a duration such as 90m, 36h or 30d.",
  memory: "Memory must be a whole number of MiB.",
};

/** Connects the button "Budget" with its dialog. */
export function connectBudget(button, dialog) {
  const form = dialog.querySelector("form");
  const problem = dialog.querySelector("#budget-problem");
  const save = dialog.querySelector("#budget-save");
  const api = new RunApi(form.dataset.run);
  let run = null;

  const show = (found) => {
    run = found;
    dialog.querySelector("#budget-stop").textContent = run.stop_reason;
    save.textContent = run.stopped_by ? "Save and resume" : "Save";
    for (const part of PARTS) {
      form.elements[part].value = fieldText(part, run.budget[part]);
      dialog.querySelector(`#budget-used-${part}`).textContent = usedText(part, run.used[part]);
    }
    save.disabled = false;
  };

  button.addEventListener("click", async () => {
    problem.textContent = "";
    save.disabled = true;
    dialog.showModal();
    try {
      show(await api.get(""));
    } catch (error) {
      problem.textContent = error.message;
    }
  });
  dialog.querySelector("#budget-cancel").addEventListener("click", () => dialog.close());
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const {wrong, changes} = budgetChanges(run.budget, Object.fromEntries(new FormData(form)));
    problem.textContent = wrong ? WRONG[wrong] : "";
    if (wrong) return;
    save.disabled = true;
    try {
      await api.patch("budget/", {...changes, play: true});
      dialog.close();
    } catch (error) {
      problem.textContent = error.message;
      save.disabled = false;
    }
  });
}
