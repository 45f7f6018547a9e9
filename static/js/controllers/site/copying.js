import {gettext} from "../../lib/words.js";

/** For so long a button says that it has copied. */
const SAID_MS = 2000;

/** Connects the buttons that copy what stands in the element with the id in their `data-copy`. */
export function connectCopying(root = document) {
  // Browsers give pages a clipboard over HTTPS and on this machine only.
  if (!navigator.clipboard) return;
  for (const button of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll("[data-copy]"))) {
    const words = button.textContent;
    button.hidden = false;
    button.setAttribute("aria-live", "polite");
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy ?? "")?.textContent ?? "");
      button.textContent = gettext("Copied");
      setTimeout(() => {
        button.textContent = words;
      }, SAID_MS);
    });
  }
}
