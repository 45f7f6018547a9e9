import {effect} from "@preact/signals";

/**
 * Connects the strip that says that a run is a cluster as it was brought; it goes once something is played.
 * A page without playback leads to the board then.
 */
export function connectFrozen(session, strip, {hasPlayback}) {
  if (!strip) return;
  strip.querySelector("#play-on")?.addEventListener("click", async () => {
    await session.commands.transport({action: "play"});
    const {standing} = session.run.value;
    if (!standing && !hasPlayback) session.address.open(session.href("board"));
  });
  effect(() => {
    strip.hidden = session.run.value.standing === false;
  });
}
