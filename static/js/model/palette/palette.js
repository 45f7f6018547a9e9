/** What the command palette offers for what was typed. An entry is {title, about, href?, run?}. */
import {gettext} from "../../lib/words.js";
import {parseId} from "../shared/format.js";
import {objectPage} from "../run/place.js";

/** So many are listed. */
export const MOST_LISTED = 12;

/** The objects that have a page or whose manifest people look at; others are in the state, too. */
const KINDS = new Set(["pod", "node", "claim", "volume", "class", "deployment", "replicaset", "statefulset", "job"]);

/**
 * The entries that have every word of `query`, best first: a title that begins with the query, then one that has
 * it as a whole, then the rest, each in the order given.
 */
export function matching(entries, query) {
  const asked = query.trim().toLowerCase();
  const words = asked.split(/\s+/).filter(Boolean);
  /** @type {any[][]} */
  const ranked = [[], [], []];
  for (const entry of entries) {
    const text = `${entry.title} ${entry.about}`.toLowerCase();
    if (!words.every((word) => text.includes(word))) continue;
    const title = entry.title.toLowerCase();
    ranked[title.startsWith(asked) ? 0 : title.includes(asked) ? 1 : 2].push(entry);
  }
  return ranked.flat().slice(0, MOST_LISTED);
}

/** An entry for each object of the state `entities`; `hrefOf` makes the address of an object's page. */
export function objectEntries(entities, hrefOf) {
  const entries = [];
  for (const id of entities.keys()) {
    const {kind, key} = parseId(id);
    if (!KINDS.has(kind)) continue;
    const about = objectPage(id).page === "manifest" ? gettext("{kind}, its manifest", {kind}) : kind;
    entries.push({title: key, about, href: () => hrefOf(id)});
  }
  return entries;
}

/** "1466" or "#1466" → the event of that number; null for anything else. */
export function eventAsked(query) {
  const found = /^#?(\d+)$/.exec(query.trim());
  return found ? Number(found[1]) : null;
}
