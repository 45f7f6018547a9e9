/** What stands beside a step of a claim's film. */
import {gettext} from "../../lib/words.js";
import {nameOf} from "../inside/steps.js";
import {count} from "../shared/format.js";
import {figure, note, terms} from "./blocks.js";
import {BY, writeWords} from "./claim_film.js";

/**
 * The blocks of a step; see `facts.js`.
 *
 * @param {import("./film.js").Film} film
 */
export function claimFacts(film, step, {writes, known, before}) {
  const all = film.steps.filter(({write}) => write !== null).length;
  const family = writes === all ? "settled" : "promised";
  const rows = step.write === null ? saidRows(step.told) : writeRows(film, step, known, before);
  const facts = [
    all > 0 &&
      figure(gettext("{writes} of {all}", {writes: count(writes), all: count(all)}), gettext("writes made"), family),
    terms([[gettext("by"), BY[step.told.part]], ...rows]),
    note(step.told.error ? gettext("It was given up: {error}", {error: step.told.error}) : ""),
  ];
  return facts.filter(Boolean);
}

function saidRows({says}) {
  const texts = Object.entries(says).filter(([, value]) => typeof value === "string" || typeof value === "number");
  return texts.map(([name, value]) => [name, String(value)]);
}

function writeRows(film, step, known, before) {
  const {field, value} = writeWords(film, step);
  const {entity} = step.told.writes[step.write];
  const [was, now] = [before[entity]?.api_server, known[entity]?.api_server];
  return [
    [`${nameOf(entity)} ${field}`, value, "changed"],
    ["resourceVersion", was ? `${was} → ${now}` : (now ?? "–"), "changed"],
  ];
}
