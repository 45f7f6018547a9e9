import {html} from "../../lib/html.js";
import {gettext} from "../../lib/words.js";
import {Inspector, Peek} from "../pods/inspector.js";
import {Reading, RunPage, isWaiting} from "../run/run_page.js";
import {EventList} from "../shared/events.js";
import {LaneList} from "./lanes.js";
import {NodeGrid} from "./node_grid.js";
import {Sparks} from "./sparks.js";

/** The whole board below the top bar. */
export function BoardPage({session}) {
  return html`<${RunPage} session=${session}><${Body} session=${session} /><//>`;
}

function Body({session}) {
  if (isWaiting(session)) {
    return html`<main class="board waiting"><h1 class="vh">${gettext("Board")}</h1><${Reading} session=${session} /></main>`;
  }
  return html`
    <main class="board"><h1 class="vh">${gettext("Board")}</h1>
      <${LaneList} session=${session} />
      <div class="mid"><${NodeGrid} session=${session} />
        <div class="foot"><${EventList} session=${session} /><${Sparks} session=${session} /></div></div>
      <${Inspector} session=${session} />
    </main>
    <${Peek} session=${session} />`;
}
