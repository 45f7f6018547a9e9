import {effect} from "@preact/signals";

import {askAgainIn} from "../../model/pods/diagnosis.js";

/** Repeat the question what would fix the selected pod, at a limited rate, when the run has continued. */
export function followWhy(session) {
  let timer = null;
  let answered = null;
  let answeredAt = 0;
  effect(() => {
    const held = session.why.held.value;
    if (held !== answered && held?.status !== "loading") [answered, answeredAt] = [held, performance.now()];
    const id = session.selected();
    const playing = session.run.value.status === "playing";
    const wait = askAgainIn({
      held,
      id,
      playing,
      pod: session.model.entities.get(id),
      place: session.place,
      sinceAnswer: performance.now() - answeredAt,
    });
    // A playing run always has newer events, so a running timer is not restarted.
    if (wait !== null && playing && timer !== null) return;
    clearTimeout(timer);
    timer =
      wait === null
        ? null
        : setTimeout(() => {
            timer = null;
            if (!document.hidden) session.askWhy();
          }, wait);
  });
}
