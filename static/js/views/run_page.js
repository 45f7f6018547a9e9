import {html} from "../lib/html.js";
import {Notice} from "./notice.js";
import {PastBanner, Transport} from "./transport.js";

/** What every page of a run has above its own content: the transport, and what there is to be told. */
export function RunPage({board, children}) {
  return html`
    <${Transport} board=${board} />
    <${PastBanner} board=${board} />
    <${Notice} board=${board} />
    ${children}`;
}

/** Whether there is no state to show yet, of now or of the past. */
export function isWaiting(board) {
  return !board.ready.value && !board.past.value;
}

/** Said until the state is there. */
export function Reading() {
  return html`<p class="small mute" role="status">Reading the state of the run…</p>`;
}
