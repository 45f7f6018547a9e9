import {effect} from "@preact/signals";

import {RunApi} from "../lib/api.js";
import {Board} from "./board.js";
import {connectHotkeys} from "./hotkeys.js";

/**
 * Connect a page of a run, to be drawn into `root`, whose data name the run's other pages. Returns
 * the board behind it; `start()` it once it is drawn.
 */
export function startRunPage(root, address) {
  const run = JSON.parse(document.querySelector("#run-data").textContent);
  const board = new Board({run, api: new RunApi(run.id), address});
  board.boardUrl = root.dataset.board;
  board.machinesUrl = root.dataset.machines;
  board.podsUrl = root.dataset.pods;
  board.volumesUrl = root.dataset.volumes;
  board.nodesUrl = root.dataset.nodes;
  board.timelineUrl = root.dataset.timeline;
  root.replaceChildren();
  connectHotkeys(board);
  showConnection(board, document.querySelector("#connection"));
  return board;
}

/** The connection in the top bar: "Live" at the newest event, "Connected" while looking back. */
function showConnection(board, element) {
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
