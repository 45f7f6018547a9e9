/** What stands below a saved picture, and the name of its file. */
import {gettext} from "../../lib/words.js";
import {count, timeText} from "../shared/format.js";

/**
 * Where a picture is from: run, page, event and instant; on a page without a run only the page. A run that no server has
 * seen has no number.
 *
 * @param {{page: string, run?: {id: number, name: string} | null, seq?: number | null, at?: number | null}} from
 */
export function captionOf({page, run = null, seq = null, at = null}) {
  if (!run) return gettext("{page} · kscope", {page});
  const place = {name: run.name, id: run.id, page};
  if (seq === null || at === null) return gettext("{name} · run {id} · {page}", place);
  const instant = {seq: count(seq), time: timeText(at)};
  if (!run.id) return gettext("{name} · {page} · event {seq} at {time}", {name: run.name, page, ...instant});
  return gettext("{name} · run {id} · {page} · event {seq} at {time}", {...place, ...instant});
}

/**
 * "run-12-timeline-1466": the name of a file, without its ending.
 *
 * @param {{title: string, run?: {id: number} | null, seq?: number | null}} about
 */
export function fileName({title, run = null, seq = null}) {
  const parts = [run?.id && `run-${run.id}`, title, seq === null ? "" : String(seq)];
  const plain = parts.filter(Boolean).join("-").toLowerCase();
  return plain.replaceAll(/[^a-z0-9]+/g, "-").replaceAll(/^-+|-+$/g, "") || "kscope";
}

/** A text in lines of at most `most`, as `widthOf` measures them; cut between words, or within one that is longer. */
export function wrapped(text, most, widthOf) {
  const lines = [""];
  for (const word of text.split(/(?<=\s)/)) {
    const last = lines[lines.length - 1];
    if (widthOf((last + word).trimEnd()) <= most) lines[lines.length - 1] += word;
    else lines.push(...inPieces(word, most, widthOf));
  }
  return lines.map((line) => line.trim()).filter(Boolean);
}

function inPieces(word, most, widthOf) {
  const pieces = [""];
  for (const letter of word) {
    const last = pieces[pieces.length - 1];
    if (last === "" || widthOf(last + letter) <= most) pieces[pieces.length - 1] += letter;
    else pieces.push(letter);
  }
  return pieces;
}

/** The start of a text that has room, with "…" where something was cut. */
export function cutTo(text, most, widthOf) {
  if (widthOf(text) <= most) return text;
  let kept = text;
  while (kept !== "" && widthOf(`${kept}…`) > most) kept = kept.slice(0, -1);
  return `${kept.trimEnd()}…`;
}
