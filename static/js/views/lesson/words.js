import {html} from "../../lib/html.js";
import {timeText} from "../../model/shared/format.js";

/** A text of a lesson: its pieces, of which times and objects are buttons and terms explain themselves. */
export function Words({reader, pieces}) {
  return pieces.map((piece, i) => html`<${Piece} key=${i} reader=${reader} piece=${piece} />`);
}

/** The same without buttons, for a text that stands in one. */
export function PlainWords({pieces}) {
  return pieces.map((piece, i) => (piece.kind === "code" ? html`<code key=${i}>${piece.text}</code>` : piece.text));
}

function Piece({reader, piece}) {
  if (piece.kind === "code") return html`<code>${piece.text}</code>`;
  if (piece.kind === "moment") return html`<${Time} reader=${reader} piece=${piece} />`;
  if (piece.kind === "object") return html`<${Thing} reader=${reader} piece=${piece} />`;
  if (piece.kind === "term" && piece.means)
    return html`<span class="term" tabindex="0" data-means=${piece.means}>${piece.text}</span>`;
  return piece.text;
}

function Time({reader, piece}) {
  const at = reader.lesson.value.moments?.[piece.moment]?.at;
  const text = piece.text || (at === undefined ? "…" : `${timeText(at)}`);
  const title = piece.text && at !== undefined ? `${timeText(at)}` : undefined;
  return html`<button type="button" class="instant" title=${title} aria-pressed=${String(reader.pressed.value === piece)}
    disabled=${at === undefined} onClick=${() => reader.press(piece)}>${text}</button>`;
}

function Thing({reader, piece}) {
  const isThere = reader.lesson.value.moments !== null;
  return html`<button type="button" class="thing" title=${piece.object} aria-pressed=${String(reader.pressed.value === piece)}
    disabled=${!isThere} onClick=${() => reader.press(piece)}>${piece.text}</button>`;
}
