import {effect} from "@preact/signals";

import {RunApi, streamUrl} from "../../lib/api.js";
import {connectionLook} from "../../model/run/connection.js";
import {connectBudget} from "../run/budget.js";
import {connectDelete} from "../run/delete.js";
import {connectFork} from "../run/fork.js";
import {connectFrozen} from "../run/frozen.js";
import {connectShare} from "../run/share.js";
import {offerRun} from "../palette/palette.js";
import {placeOf, tellPlace} from "../picture/pictures.js";
import {connectHotkeys} from "./hotkeys.js";
import {RunSession} from "./run_session.js";
import {element, given, optional} from "../../lib/dom.js";

/**
 * Connect a page of a run that is drawn into `root`. Returns its session; call `start()` once the page is drawn.
 * A page without playback has no keys for it.
 */
export function startRunPage(root, address, {hasPlayback = true} = {}) {
  const run = given("#run-data");
  // The server draws each of these buttons only for users who may use it.
  const [fork, budget, share] = ["#fork-here", "#budget-open", "#share"].map(optional);
  const session = new RunSession({
    run,
    api: new RunApi(run.id),
    streamUrl: streamUrl(run.id, location),
    address,
    mayFork: fork !== null,
  });
  root.replaceChildren();
  if (hasPlayback) connectHotkeys(session);
  connectFrozen(session, document.querySelector("#frozen"), {hasPlayback});
  if (fork) connectFork(session, fork, document.querySelector("#fork-dialog"));
  if (budget) connectBudget(budget, element("#budget-dialog", {kind: HTMLDialogElement}));
  if (share) connectShare(share, document.querySelector("#share-dialog"));
  offerRun(session);
  tellPlace(() => placeOf(session));
  connectDelete(document, () => location.assign("/runs/"));
  aimTabs(session, document.querySelectorAll("a[data-page]"));
  showConnection(session, document.querySelector("#connection"));
  addEventListener("popstate", () => session.revisit());
  // A page from the back/forward cache has a dead connection.
  addEventListener("pageshow", ({persisted}) => persisted && session.live.stream.resume());
  return session;
}

/** Keep the event shown and the selection in the addresses of the tabs, and in that of Compare the other run. */
function aimTabs(session, tabs) {
  const more = {compare: {with: session.address.query("with")}};
  effect(() => {
    for (const tab of tabs) {
      const href = session.href(tab.dataset.page, more[tab.dataset.page]);
      if (tab.getAttribute("href") !== href) tab.setAttribute("href", href);
    }
  });
}

/** The connection in the top bar: "Live" at the newest event, "Connected" while looking back. */
function showConnection(session, label) {
  const text = label.querySelector("span");
  effect(() => {
    const {connection, run} = session.live;
    const {state, words} = connectionLook(connection.value, run.value, session.place.past);
    label.dataset.state = state;
    if (text.textContent !== words) text.textContent = words;
    text.title = words;
  });
}
