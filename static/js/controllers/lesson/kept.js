import {parseKept} from "../../model/lesson/reading.js";

const key = (slug) => `lesson:${slug}`;

/** What this browser keeps of a lesson: {seen, answers}; nothing leaves it. */
export function readKept(slug) {
  try {
    return parseKept(localStorage.getItem(key(slug)));
  } catch {
    // A browser may forbid it; then each visit begins anew.
    return null;
  }
}

export function keep(slug, kept) {
  try {
    localStorage.setItem(key(slug), JSON.stringify(kept));
  } catch {
    // As above.
  }
}
