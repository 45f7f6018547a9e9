import {effect} from "@preact/signals";
import {render} from "preact";

import {Address} from "./controllers/address.js";
import {Board} from "./controllers/board.js";
import {followEvidence} from "./controllers/evidence.js";
import {connectHotkeys} from "./controllers/hotkeys.js";
import {followMotion} from "./controllers/motion.js";
import {RunApi} from "./lib/api.js";
import {html} from "./lib/html.js";
import {BoardPage} from "./views/board_page.js";

const run = JSON.parse(document.querySelector("#run-data").textContent);
const root = document.querySelector("#board");
const board = new Board({run, api: new RunApi(run.id), address: new Address()});
board.timelineUrl = root.dataset.timeline;

root.replaceChildren();
render(html`<${BoardPage} board=${board} />`, root);
connectHotkeys(board);
followEvidence(board);
followMotion(board);
showConnection(document.querySelector("#connection"));
board.start();

/** The connection in the top bar: "Live" at the newest event, "Connected" while looking back. */
function showConnection(element) {
  const text = element.querySelector("span");
  effect(() => {
    const state = board.connection.value;
    const words = {
      open: board.past.value ? "Connected" : "Live",
      connecting: "Connecting…",
      waiting: "Connection lost, trying again",
      gone: "This run was deleted",
    };
    element.dataset.state = state;
    if (text.textContent !== words[state]) text.textContent = words[state];
  });
}
