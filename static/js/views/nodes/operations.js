import {html} from "../../lib/html.js";
import {gettext, labelled, listText, ngettext} from "../../lib/words.js";
import {operationLanes, operationsAxis} from "../../model/nodes/operation_lanes.js";
import {placeOn} from "../../model/pods/life.js";
import {ticksBetween} from "../../model/run/timeline.js";
import {duration, tick, timeText} from "../../model/shared/format.js";
import {Mark, Name} from "../shared/mark.js";

const LANES = 30;
const SLICES = 200;
/** Approximate widths of the narrowest lane and of a letter, in pixels. */
const LANE_WIDTH = 500;
const LETTER_WIDTH = 5.4;

const LEGEND = [
  ["attach", "ready", gettext("attach")],
  ["mount", "working", gettext("mount")],
  ["unmount", "held", gettext("unmount, detach")],
  ["failed", "stuck", gettext("failed")],
  ["backoff", "clock", gettext("backoff")],
];

/** The operations on the volumes of a node, one lane per volume, on an axis that reaches to the next retry. */
export function Operations({session, id, events}) {
  const {seq, at} = session.model;
  const lanes = operationLanes(id, events, seq);
  const drawn = lanes.slice(0, LANES);
  const axis = operationsAxis(drawn, at);
  return html`
    <section aria-label=${gettext("Operations")}><div class="sechead"><h2>${gettext("Operations")}</h2>
        ${lanes.length === 0 ? html`<span class="note">${gettext("none yet")}</span>` : html`<${Legend} />`}</div>
      ${
        lanes.length === 0
          ? html`<p class="small mute">${gettext("No volume was attached, mounted, unmounted or detached here before {at}.", {at: timeText(at)})}</p>`
          : html`<div class="scroll-x" tabindex="0" role="region" aria-label=${gettext("Operations timeline")}><div class="ops" data-picture=${gettext("Operations")}>
            <${Axis} axis=${axis} at=${at} />
            ${drawn.map((lane) => html`<${Lane} key=${lane.unique} lane=${lane} axis=${axis} at=${at} />`)}
            <div class="nowline" style=${`--at:${partOf(axis, at)}`}></div></div></div>`
      }
      ${lanes.length > LANES && html`<p class="small mute after">${ngettext("Showing the {shown} most recently used of {count} volume.", "Showing the {shown} most recently used of {count} volumes.", lanes.length, {shown: LANES})}</p>`}
    </section>`;
}

function Legend() {
  return html`
    <ul class="legend end"><li><i class="steadykey f-settled"></i>${gettext("mounted")}</li>
      ${LEGEND.map(([mark, family, words]) => html`<li key=${words}><${Mark} name=${mark} family=${family} />${words}</li>`)}</ul>`;
}

function partOf({from, to}, at) {
  return Math.min(1, Math.max(0, (at - from) / (to - from))).toFixed(4);
}

/** Round moments and the moment shown; ticks too close to it are left out. */
function Axis({axis, at}) {
  const now = Number(partOf(axis, at));
  const round = ticksBetween(axis.from, axis.to).filter(({last}) => !last);
  const apart = round.filter(({part}) => Math.abs(part - now) > 0.07);
  return html`
    <div class="axis" aria-hidden="true">${apart.map(
      ({at: when, part}, i) => html`
      <span key=${when} class=${i % 2 === 1 ? "opt" : ""} style=${`left:${(part * 100).toFixed(2)}%`}>${tick(when, axis.to, axis.from)}</span>`,
    )}
      <span class=${`now${now > 0.94 ? " last" : now < 0.06 ? " first" : ""}`} style=${`left:${(now * 100).toFixed(2)}%`}>${timeText(at)}</span></div>
    ${round.map(({at: when, part}) => html`<div key=${when} class="tickline" style=${`--at:${part.toFixed(4)}`}></div>`)}`;
}

function Lane({lane, axis, at}) {
  return html`
    <div class="line"><span class="cut" title=${`${lane.name}\n${lane.unique}`}><${Name} name=${lane.name} untitled /></span>
      <span class="lane" role="img" aria-label=${spoken(lane, at)}>${lane.slices.slice(-SLICES).map((slice, i) => html`<${Slice} key=${i} slice=${slice} axis=${axis} at=${at} />`)}</span></div>`;
}

function spoken({name, slices}, at) {
  const last = slices.at(-1);
  const all = ngettext("{count} operation", "{count} operations", slices.length);
  return labelled(name, listText([all, gettext("the last one {operation}", {operation: sliceText(last, at)})]));
}

function sliceText({title, from, to, until}, at) {
  const facts = {title, from: timeText(from)};
  if (to !== null)
    return gettext("{title}, from {from} to {to}, {length}", {...facts, to: timeText(to), length: duration(to - from)});
  if (until !== null) return gettext("{title}, from {from} until {until}", {...facts, until: timeText(until)});
  return gettext("{title}, from {from} until now, {length}", {...facts, length: duration(at - from)});
}

function Slice({slice, axis, at}) {
  const place = placeOn(axis, slice, at);
  const {look, family, label, to, until} = slice;
  const openClass = to === null && look === "t" ? " open" : "";
  const waits = to === null && until !== null && until > at;
  return html`
    ${place && html`<span class=${`slice f-${family} ${look}${openClass}`} title=${sliceText(slice, at)} style=${styleOf(place)}>${hasRoom(label, place) && label}</span>`}
    ${waits && html`<${Ahead} slice=${slice} axis=${axis} at=${at} />`}`;
}

/** The rest of a backoff, dashed after the moment shown, and the retry at its end. */
function Ahead({slice, axis, at}) {
  const place = placeOn(axis, {from: at, to: slice.until}, at);
  if (!place) return null;
  const left = gettext("{time} left", {time: duration(slice.until - at)});
  return html`
    <span class="slice f-clock bo next" title=${sliceText(slice, at)} style=${styleOf(place)}>${hasRoom(left, place) && left}</span>
    <span class="slice f-working ghost" title=${gettext("retry at {time}", {time: timeText(slice.until)})} style=${`left:${((place.left + place.width) * 100).toFixed(2)}%;width:.8%`}></span>`;
}

function styleOf({left, width}) {
  return `left:${(left * 100).toFixed(2)}%;width:${(width * 100).toFixed(2)}%`;
}

/** Labels that would be cut off are not drawn. */
function hasRoom(label, {width}) {
  return label !== "" && width * LANE_WIDTH >= label.length * LETTER_WIDTH + 10;
}
