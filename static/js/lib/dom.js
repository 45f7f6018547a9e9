/**
 * The element of the page that a selector names; `within` is where to look for it. Raises where it is missing or of
 * another kind, because the template and the script then disagree.
 *
 * @template {Element} [T=HTMLElement]
 * @param {string} selector
 * @param {{kind?: new () => T, within?: ParentNode}} [options]
 * @returns {T}
 */
export function element(selector, {kind, within = document} = {}) {
  const found = within.querySelector(selector);
  if (!(found instanceof (kind ?? HTMLElement))) throw new Error(`the page has no ${selector} of the expected kind`);
  return /** @type {T} */ (found);
}

/** The same where the page may go without it: null if it is missing. @param {string} selector @returns {HTMLElement | null} */
export function optional(selector) {
  return document.querySelector(selector);
}

/** The JSON that a script element of the page holds. @param {string} selector */
export function given(selector) {
  return JSON.parse(element(selector).textContent);
}
