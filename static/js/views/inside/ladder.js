import {html} from "../../lib/html.js";
import {gettext, ngettext} from "../../lib/words.js";
import {operationLook} from "../../model/health/node_volumes.js";
import {ticksOf} from "../../model/inside/tries.js";
import {wordsOf} from "../../model/inside/words.js";
import {tick as tickLabel} from "../../model/shared/format.js";

const WIDE = 760;
const SPAN = 4.5e8;
const LEFT = 46;
const ROW = 26;
/** The width of the words beside a row. */
const LABEL = 240;

/** The ticks around the instant of a step. */
export function Ticks({steps, step}) {
  const {at, entity} = step;
  const [from, to] = [at - SPAN, at + SPAN];
  const x = (instant) => ((instant - from) / (to - from)) * WIDE;
  const ticks = ticksOf(steps, {at, node: entity, span: SPAN});
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label=${gettext("Ticks")}><svg class="ticks" data-picture=${gettext("Ticks")} viewBox=${`0 0 ${WIDE} 52`} aria-hidden="true">
      <line x1="0" x2=${WIDE} y1="20" y2="20" class="base" />
      ${ticks.map(({at: tick, steps: own}) => html`<${Tick} key=${tick} x=${x(tick)} tick=${tick} isActive=${own.length > 0} />`)}
      <text x=${x(at) + 10} y="12" class="on">${wordsOf(step).outcome}</text>
      <path d=${`M${x(at)} 14 l-6 -10 h12z`} class="headtip" /></svg></div>`;
}

function Tick({x, tick, isActive}) {
  return html`
    <line x1=${x} x2=${x} y1=${isActive ? 6 : 14} y2=${isActive ? 34 : 26} class=${isActive ? "act" : "idle"} />
    <text x=${x} y="48" class=${`mid${isActive ? " on" : ""}`}>${(tick / 1e9).toFixed(1)}</text>`;
}

/** One row for each try, with the wait that follows it as a bar. */
export function Ladder({ladder, at}) {
  const {rows, from, end, operation} = ladder;
  const x = (instant) => LEFT + ((instant - from) / (end - from || 1)) * (WIDE - LEFT - LABEL);
  const high = 34 + rows.length * ROW;
  const {title} = operationLook({name: operation});
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label=${gettext("Tries")}><svg class="ladder" data-picture=${gettext("Tries")} viewBox=${`0 0 ${WIDE} ${high}`} role="img" aria-label=${ngettext("{title}: {count} try", "{title}: {count} tries", rows.length, {title})}>
      ${gridOf(from, end).map(
        (instant) =>
          html`<g key=${instant}><line x1=${x(instant)} x2=${x(instant)} y1="16" y2=${high - 12} class="grid" /><text x=${x(instant)} y="11" class="mid">${tickLabel(instant, end, from)}</text></g>`,
      )}
      ${rows.map((row, place) => html`<${Rung} key=${row.number} row=${row} y=${32 + place * ROW} x=${x} at=${at} />`)}
      <line x1=${x(at)} x2=${x(at)} y1="16" y2=${high - 12} class="head" /></svg></div>`;
}

const LOOKS = {failed: "bad", succeeded: "good", running: "busy", next: "next"};

function Rung({row: {number, from, to, wait, next, status}, y, x, at}) {
  const waited = Math.max(to, Math.min(next ?? to, at));
  const end = x(next ?? to);
  return html`<g>
    <text x="0" y=${y + 4} class="try">${gettext("try {number}", {number})}</text>
    <rect x=${x(from)} y=${y - 8} width=${Math.max(4, x(to) - x(from))} height="16" class=${LOOKS[status]} />
    ${
      status === "failed" &&
      next !== null &&
      html`
      <rect x=${x(to) + 3} y=${y - 5} width=${Math.max(1, x(waited) - x(to) - 4)} height="10" class="wait" />
      ${next > at && html`<line x1=${x(waited)} x2=${end} y1=${y} y2=${y} class="rest" />`}
      <${Label} x=${end} y=${y}>${waitWords({to, wait, next, at})}<//>`
    }
    ${status === "succeeded" && html`<${Label} x=${end} y=${y} look="good">${gettext("works")}<//>`}
  </g>`;
}

/** The words after a row. */
function Label({x, y, look = "", children}) {
  return html`<text x=${x + 8} y=${y + 4} class=${look}>${children}</text>`;
}

function waitWords({to, wait, next, at}) {
  const due = seconds(to + wait);
  return next > at
    ? gettext("wait {seconds} s: due {due}, next tick {seconds2}", {
        seconds: seconds(wait),
        due,
        seconds2: seconds(next),
      })
    : gettext("waited {seconds} s: due {due}, ran {seconds2}", {seconds: seconds(wait), due, seconds2: seconds(next)});
}

/** 3500000000 → "3.5". */
function seconds(ns) {
  return String(Number((ns / 1e9).toFixed(3)));
}

/** At most eight round instants between the two. */
function gridOf(from, end) {
  const step =
    [1e8, 2e8, 5e8, 1e9, 2e9, 5e9, 1e10, 3e10, 6e10, 3e11, 6e11].find((each) => (end - from) / each <= 8) ??
    (end - from) / 8;
  const found = [];
  for (let at = Math.ceil(from / step) * step; at <= end; at += step) found.push(at);
  return found;
}
