import {optional} from "../../lib/dom.js";

/** The key / leads to the search field of the page. */
export function connectSearchKey(page = document) {
  page.addEventListener("keydown", (event) => {
    const isTyping =
      event.target instanceof Element && event.target.closest("input, textarea, select, [contenteditable]");
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
    event.preventDefault();
    optional('[aria-keyshortcuts="/"]')?.focus();
  });
}
