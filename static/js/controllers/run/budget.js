import {RunApi} from "../../lib/api.js";
import {PARTS, budgetChanges, fieldText, usedText} from "../../model/run/budget.js";
import {element} from "../../lib/dom.js";
import {gettext} from "../../lib/words.js";

const WRONG = {
  events: gettext("Events must be a whole number."),
  objects: gettext("Objects must be a whole number."),
  time: gettext("Virtual time must be a duration such as 90m, 36h or 30d."),
  memory: gettext("Memory must be a whole number of MiB."),
};

/**
 * Connects the button "Budget" with its dialog.
 *
 * @param {HTMLElement} button
 * @param {HTMLDialogElement} dialog
 */
export function connectBudget(button, dialog) {
  const form = element("form", {kind: HTMLFormElement, within: dialog});
  const problem = element("#budget-problem", {within: dialog});
  const save = element("#budget-save", {kind: HTMLButtonElement, within: dialog});
  const api = new RunApi(form.dataset.run);
  /** As the server gave it; null before. @type {Record<string, number> | null} */
  let budget = null;

  const show = (run) => {
    budget = run.budget;
    element("#budget-stop", {within: dialog}).textContent = run.stop_reason;
    save.textContent = run.stopped_by ? gettext("Save and resume") : gettext("Save");
    for (const part of PARTS) {
      element(`[name=${part}]`, {kind: HTMLInputElement, within: form}).value = fieldText(part, run.budget[part]);
      element(`#budget-used-${part}`, {within: dialog}).textContent = usedText(part, run.used[part]);
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
  element("#budget-cancel", {within: dialog}).addEventListener("click", () => dialog.close());
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!budget) return;
    const {wrong, changes} = budgetChanges(budget, Object.fromEntries(new FormData(form)));
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
