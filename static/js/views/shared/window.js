import {html} from "../../lib/html.js";
import {gettext, listText} from "../../lib/words.js";
import {count} from "../../model/shared/format.js";
import {TryAgain} from "./try_again.js";

/** What is said of a list that is read: "Reading the rows…", or why it cannot be. */
export function RowsMissing({rows}) {
  const problem = rows.problem.value;
  if (!problem) return html`<p class="small mute" role="status">${gettext("Reading the rows…")}</p>`;
  return html`
    <div class="unread" role="alert"><p class="small">${gettext("The rows could not be read. {problem}", {problem})}</p>
      <p class="does"><${TryAgain} retry=${() => rows.retry()} /></p></div>`;
}

/** The number of rows found; while the run plays they are counted now and then, and it says as of which event. */
export function foundWords({found, seq}, session) {
  const words = gettext("{found} found", {found: count(found)});
  if (!session.isMoving) return words;
  return listText([words, gettext("ordered as at event {seq}", {seq: count(seq)})]);
}

/**
 * The head of a column that the list can be sorted by: `by` is its name in the address, `chosen` {sort, order} what it
 * is sorted by, where `usual` sorts without being named. Another click turns the order around.
 */
export function SortHead({by, chosen, usual, set, look = "", children}) {
  const isChosen = (chosen.sort || usual) === by;
  const isTurned = chosen.order === "desc";
  const direction = isTurned ? "descending" : "ascending";
  const turn = () => set({sort: by === usual ? "" : by, order: isChosen && !isTurned ? "desc" : "", page: ""});
  return html`<th scope="col" class=${look} aria-sort=${isChosen ? direction : undefined}><button class="sorts" title=${gettext("Sort by this column")} onClick=${turn}>${children}</button></th>`;
}
