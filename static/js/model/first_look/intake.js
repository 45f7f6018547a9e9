/** What the report on an import says beside the objects that were read: questions, placeholders, what was skipped. */
import {count} from "../shared/format.js";

/** How many of each are shown before the rest is counted. */
const SHOWN = 12;

const TITLES = {
  questions: "Open questions",
  placeholders: "Assumed, because these files do not hold it",
  sources: "Recognised",
  unknown: "Unknown fields",
  skipped: "Skipped",
};

/** The parts of the report that have something to say: [{title, rows, more}]; each row is a sentence. */
export function intakeParts(report) {
  if (!report) return [];
  const parts = [
    part(
      TITLES.questions,
      (report.questions ?? []).map(({text, answer}) => `${text} ${answer}`),
    ),
    part(
      TITLES.placeholders,
      (report.placeholders ?? []).map(({sentence}) => sentence),
      report.placeholder_count,
    ),
    part(
      TITLES.sources,
      Object.entries(report.sources ?? {}).map(([name, what]) => `${name} is ${what}.`),
    ),
    part(TITLES.unknown, report.unknown_fields ?? []),
    part(TITLES.skipped, (report.skipped ?? []).map(skippedWords), report.skipped_count),
  ];
  return parts.filter(({rows}) => rows.length > 0);
}

function part(title, rows, number = rows.length) {
  const more = number - Math.min(rows.length, SHOWN);
  return {title, rows: rows.slice(0, SHOWN), more: more > 0 ? `${count(more)} more are not shown here.` : ""};
}

function skippedWords({file, document, why}) {
  return document ? `${file}, document ${document}: ${why}` : `${file}: ${why}`;
}
