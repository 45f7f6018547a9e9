import {html} from "../lib/html.js";
import {EventList} from "./events.js";
import {Inspector, Peek} from "./inspector.js";
import {LaneList} from "./lanes.js";
import {NodeGrid} from "./node_grid.js";
import {Notice} from "./notice.js";
import {Sparks} from "./sparks.js";
import {PastBanner, Transport} from "./transport.js";

/** The whole board below the top bar. */
export function BoardPage({board}) {
  return html`
    <${Transport} board=${board} />
    <${PastBanner} board=${board} />
    <${Notice} board=${board} />
    <${Body} board=${board} />`;
}

function Body({board}) {
  if (!board.ready.value && !board.past.value) {
    return html`<main class="board waiting"><h1 class="vh">Board</h1>
      <p class="small mute" role="status">Reading the state of the run…</p></main>`;
  }
  return html`
    <main class="board"><h1 class="vh">Board</h1>
      <${LaneList} board=${board} />
      <div class="mid"><${NodeGrid} board=${board} />
        <div class="foot"><${EventList} board=${board} /><${Sparks} board=${board} /></div></div>
      <${Inspector} board=${board} />
    </main>
    <${Peek} board=${board} />`;
}
