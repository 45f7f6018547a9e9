import {ngettext} from "../../lib/words.js";

/**
 * Rows of the steps of a binding: {name, status, mark, family, what, parts}, and `at` and `seq` for what
 * has happened. A row for several equal events counts them in `times`.
 */

const LOOKS = {
  done: {status: "done", mark: "vbound", family: "settled"},
  todo: {status: "todo", mark: "available", family: "held"},
  failed: {status: "now fail", mark: "failed", family: "stuck"},
};

/** How many rows of a step are listed; of more, the newest. */
const LISTED = 8;

/** A row that looks as `look` says: "done", "todo" or "failed". */
export function stepRow(look, name, what, parts = []) {
  return {name, ...LOOKS[look], what, parts};
}

/** Append a row; a repetition of the last row replaces it and counts how often it happened. */
export function appendRow(rows, row) {
  const last = rows.at(-1);
  const isAgain = last?.kind === row.kind && last.name === row.name && last.what === row.what;
  if (isAgain) rows.pop();
  rows.push({...row, times: isAgain ? last.times + 1 : 1});
}

/** The newest rows, after a note of how many earlier ones are left out. */
export function newestRows(rows) {
  if (rows.length <= LISTED) return rows;
  const note = ngettext("{count} earlier, in the timeline", "{count} earlier, in the timeline", rows.length - LISTED);
  return [{...stepRow("done", "", note), family: "held"}, ...rows.slice(-LISTED)];
}
