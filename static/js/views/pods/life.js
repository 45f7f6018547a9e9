import {html} from "../../lib/html.js";
import {gettext, listText} from "../../lib/words.js";
import {axisOf, lifeOf, placeOn, spent} from "../../model/pods/life.js";
import {ticksBetween} from "../../model/run/timeline.js";
import {tick, timeText} from "../../model/shared/format.js";
import {Mark} from "../shared/mark.js";

/** The number of slices drawn per lane. */
const DRAWN = 300;
/** Approximate widths of a lane and of a letter, in pixels. */
const LANE_WIDTH = 680;
const LETTER_WIDTH = 5.4;

/** On a narrow axis a tick after this position would overlap the last one. */
const NEAR_END = 0.7;

/** The lanes of a pod's life on one axis of time, each with the time spent in it. */
export function Life({session, id, record}) {
  const {seq, at} = session.model;
  const life = lifeOf(id, record.lived.value, seq);
  if (life.from === null) return null;
  const axis = axisOf(life, at);
  return html`
    <section class="life" data-picture=${gettext("Life of the pod")} aria-label=${gettext("Life of the pod")}>
      <div class="axis" aria-hidden="true">${ticksBetween(axis.from, axis.to).map(
        ({at: when, part, last}, i) => html`
        <span key=${when} class=${last ? "now" : i % 2 === 1 || part > NEAR_END ? "opt" : ""} style=${`left:${(part * 100).toFixed(2)}%`}>
          ${last ? `${timeText(when)}${axis.to < at ? " →" : ""}` : tick(when, axis.to, axis.from)}</span>`,
      )}</div>
      ${axis.to < at && html`<p class="micro mute after">${gettext("Still running at {at}; the chart shows the time until it started.", {at: timeText(at)})}</p>`}
      ${life.lanes.map((lane) => html`<${Lane} key=${lane.key} lane=${lane} axis=${axis} at=${at} />`)}
    </section>`;
}

function Lane({lane, axis, at}) {
  const none = lane.slices.length === 0;
  return html`
    <div class=${`line${none ? " none" : ""}`}>
      <span title=${lane.title}><${Mark} name=${lane.mark} family=${none ? "held" : lane.family} /><span class="cut">${lane.title}</span></span>
      <div class=${`lane f-${lane.family}`}>${lane.slices.slice(-DRAWN).map(
        (slice) => html`
        <${Slice} key=${slice.from} lane=${lane} slice=${slice} axis=${axis} at=${at} />`,
      )}</div>
      <span class="cut" title=${spent(lane, at)}>${spent(lane, at)}</span>
    </div>`;
}

function Slice({lane, slice, axis, at}) {
  const place = placeOn(axis, slice, at);
  if (!place) return null;
  const from = timeText(slice.from);
  const percent = (part) => `${(part * 100).toFixed(2)}%`;
  const words = [
    lane.title,
    slice.label,
    slice.to === null
      ? gettext("from {from} until now", {from})
      : gettext("from {from} to {to}", {from, to: timeText(slice.to)}),
    slice.failed && gettext("failed"),
  ];
  return html`
    <span class=${`slice ${lane.look}${slice.failed ? " x" : ""}`} title=${listText(words.filter(Boolean))}
      style=${`left:${percent(place.left)};width:${percent(place.width)}`}>${hasRoom(slice.label, place) && html`<b>${slice.label}</b>`}</span>`;
}

/** Labels that would be cut off are not drawn. */
function hasRoom(label, {width}) {
  return label !== "" && width * LANE_WIDTH >= label.length * LETTER_WIDTH + 8;
}
