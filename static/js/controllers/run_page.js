import {effect} from "@preact/signals";

import {RunApi} from "../lib/api.js";
import {Board} from "./board.js";
import {connectFork} from "./fork.js";
import {connectHotkeys} from "./hotkeys.js";

/** Connect a page of a run, to be drawn into `root`. Returns the board behind it; `start()` it once it is drawn. */
export function startRunPage(root, address) {
  const run = JSON.parse(document.querySelector("#run-data").textContent);
  const board = new Board({run, api: new RunApi(run.id), address});
  root.replaceChildren();
  connectHotkeys(board);
  // Who may only read has no such button.
  const fork = document.querySelector("#fork-here");
  if (fork) connectFork(board, fork, document.querySelector("#fork-dialog"));
  aimTabs(board, document.querySelectorAll("a[data-page]"));
  showConnection(board, document.querySelector("#connection"));
  addEventListener("popstate", () => board.revisit());
  // A page that the browser kept comes back as it was, with a connection that is long dead.
  addEventListener("pageshow", ({persisted}) => persisted && board.stream.resume());
  return board;
}

/** The tabs lead to where one is: the event shown, and what is selected. */
function aimTabs(board, tabs) {
  effect(() => {
    for (const tab of tabs) {
      const href = board.href(tab.dataset.page);
      if (tab.getAttribute("href") !== href) tab.setAttribute("href", href);
    }
  });
}

const CONNECTION = {
  connecting: "Connecting…",
  waiting: "Reconnecting…",
  stalled: "The server cannot read the run",
  gone: "This run was deleted",
};

/** The connection in the top bar: "Live" at the newest event, "Connected" while looking back. */
function showConnection(board, element) {
  const text = element.querySelector("span");
  effect(() => {
    const state = board.connection.value;
    const words = CONNECTION[state] ?? (board.place.past ? "Connected" : "Live");
    element.dataset.state = state;
    if (text.textContent !== words) text.textContent = words;
  });
}
