/** What the report on an import says beside the objects that were read: questions, placeholders, what was skipped. */
import {gettext, labelled, ngettext, sentences} from "../../lib/words.js";

/** How many of each are shown before the rest is counted. */
const SHOWN = 12;

const TITLES = {
  questions: gettext("Open questions"),
  placeholders: gettext("Assumed, because these files do not hold it"),
  sources: gettext("Recognised"),
  unknown: gettext("Unknown fields"),
  skipped: gettext("Skipped"),
};

/** The parts of the report that have something to say: [{title, rows, more}]; each row is a sentence. */
export function intakeParts(report) {
  if (!report) return [];
  const parts = [
    part(
      TITLES.questions,
      (report.questions ?? []).map(({text, answer}) => sentences([text, answer])),
    ),
    part(
      TITLES.placeholders,
      (report.placeholders ?? []).map(({sentence}) => sentence),
      report.placeholder_count,
    ),
    part(
      TITLES.sources,
      Object.entries(report.sources ?? {}).map(([name, what]) => gettext("{name} is {what}.", {name, what})),
    ),
    part(TITLES.unknown, report.unknown_fields ?? []),
    part(TITLES.skipped, (report.skipped ?? []).map(skippedWords), report.skipped_count),
  ];
  return parts.filter(({rows}) => rows.length > 0);
}

function part(title, rows, number = rows.length) {
  const more = number - Math.min(rows.length, SHOWN);
  return {
    title,
    rows: rows.slice(0, SHOWN),
    more: more > 0 ? ngettext("{count} more is not shown here.", "{count} more are not shown here.", more) : "",
  };
}

function skippedWords({file, document, why}) {
  return labelled(document ? gettext("{file}, document {number}", {file, number: document}) : file, why);
}
