import {html} from "../../lib/html.js";
import {gettext, ngettext} from "../../lib/words.js";
import {partOf, ticks} from "../../model/run/timeline.js";
import {count, moment, tick as tickText} from "../../model/shared/format.js";
import {PictureButton} from "../picture/picture_dialog.js";
import {Bars} from "../run/transport.js";
import {Icon} from "../shared/mark.js";

/** Where the film is in the run, and the way back to it. */
export function FilmTransport({player}) {
  const {session} = player;
  return html`
    <section class="transport fm-transport" aria-label=${gettext("Place in the run")}>
      <div class="keys"><a class="btn" href=${session.href("board", {cycle: null})}><${Icon} name="back" />${gettext("Back to the run")}</a>
        <span class="small mute fm-goes">${runWords(session.run.value)}</span> <${PictureButton} /></div>
      <${Place} player=${player} />
      <div class="tail micro mute right">${count(session.live.head.seq)}<br />${ngettext("event", "events", session.live.head.seq)}</div>
    </section>`;
}

/** What the run does meanwhile. */
function runWords({status, speed}) {
  if (status !== "playing")
    return status === "finished" ? gettext("the run is finished") : gettext("the run is paused");
  return speed === "max" ? gettext("it plays on") : gettext("it plays on at {speed}×", {speed});
}

function Place({player}) {
  const {live} = player.session;
  const {histogram} = live;
  const end = Math.max(histogram.to, live.head.at);
  const at = player.clock.value;
  return html`
    <div class="readout"><span class="field"><span>${gettext("t")}</span><b class="num">${player.film.value ? moment(at) : "…"}</b><span>${gettext("s")}</span></span>
      <span class="field"><span>${gettext("seq")}</span><b class="num">${player.film.value ? player.model.seq : "…"}</b></span></div>
    <div class="scrub"><${Bars} histogram=${histogram} shown=${at} /><span class="base"></span>
      ${ticks(end).map(
        ({at: each, part, last}) =>
          html`<span key=${`${each}`} class=${`tick${last ? " last nowrap" : ""}${!last && part > 0.85 ? " near" : ""}`} style=${`left:${(part * 100).toFixed(2)}%`}>${tickText(each, end)}</span>`,
      )}
      <span class="head" style=${`left:${(partOf(at, end) * 100).toFixed(2)}%`}></span></div>`;
}
