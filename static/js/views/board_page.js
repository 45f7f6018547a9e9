import {html} from "../lib/html.js";
import {EventList} from "./events.js";
import {Inspector, Peek} from "./inspector.js";
import {LaneList} from "./lanes.js";
import {NodeGrid} from "./node_grid.js";
import {Reading, RunPage, isWaiting} from "./run_page.js";
import {Sparks} from "./sparks.js";

/** The whole board below the top bar. */
export function BoardPage({board}) {
  return html`<${RunPage} board=${board}><${Body} board=${board} /><//>`;
}

function Body({board}) {
  if (isWaiting(board)) {
    return html`<main class="board waiting"><h1 class="vh">Board</h1><${Reading} board=${board} /></main>`;
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
