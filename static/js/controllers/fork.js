import {RunApi} from "../lib/api.js";
import {count} from "../model/format.js";
import {addressInRun, forkWish} from "../model/fork.js";

/** The button that opens the form for a fork, and what the form does. */
export function connectFork(button, dialog) {
  const form = dialog.querySelector("form");
  const problem = dialog.querySelector("#fork-problem");
  const make = dialog.querySelector("#fork-make");

  button.addEventListener("click", () => {
    const {seq} = forkWish(location.search, {});
    dialog.querySelector("#fork-place").textContent = seq === null ? "after the newest event" : `after event ${count(seq)}`;
    problem.textContent = "";
    dialog.showModal();
  });
  dialog.querySelector("#fork-cancel").addEventListener("click", () => dialog.close());
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    make.disabled = true;
    try {
      const wish = forkWish(location.search, Object.fromEntries(new FormData(form)));
      const fork = await new RunApi(form.dataset.run).post("fork/", wish);
      location.assign(addressInRun(location, fork.id));
    } catch (error) {
      problem.textContent = error.message;
      make.disabled = false;
    }
  });
}
