import {gettext} from "./lib/words.js";
import {readKept} from "./controllers/lesson/kept.js";

for (const row of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-lesson]"))) {
  const kept = readKept(row.dataset.lesson);
  const label = /** @type {HTMLElement} */ (row.querySelector(".read"));
  if (!kept) continue;
  const isRead = kept.seen + 1 >= Number(row.dataset.steps);
  label.textContent = isRead ? gettext("read") : gettext("read up to step {step}", {step: kept.seen + 1});
  label.dataset.done = String(isRead);
  label.hidden = false;
}
