/** Blocks of facts; see `facts.js`. */

/** One number, large, and what it counts. */
export function figure(number, text, family = "") {
  return {kind: "figure", number, text, family};
}

/** Rows of [label, value, look]; what is false is left out. */
export function terms(rows) {
  const kept = rows.filter(Boolean).map(([label, value, look = ""]) => ({label, value, look}));
  return kept.length > 0 ? {kind: "terms", rows: kept} : null;
}

/** A sentence in small print. */
export function note(text) {
  return text ? {kind: "note", text} : null;
}
