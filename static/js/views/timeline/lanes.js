import {useEffect, useLayoutEffect, useRef, useState} from "preact/hooks";

import {html} from "../../lib/html.js";
import {gettext} from "../../lib/words.js";
import {duration, moment, parseId, timeText} from "../../model/shared/format.js";
import {stateTitle} from "../../model/timeline/look.js";
import {ROW} from "../../model/timeline/rows.js";
import {momentAt, moved} from "../../model/timeline/window.js";
import {stepTitle} from "../../model/run/path.js";
import {Labels} from "./labels.js";
import {AXIS, paintLanes} from "./paint.js";

const ZOOM = 1.2;
/** A press that moved less, in pixels, is a click. */
const CLICK = 4;
/** After so long over a bar one wants to know what it came from. */
const HOVER_MS = 200;

/** The rows in sight: their labels, and one canvas with their bars. */
export function Lanes({session, trace, path}) {
  /** @type {{current: any}} */
  const scroll = useRef(null);
  /** @type {{current: any}} */
  const canvas = useRef(null);
  /** @type {{current: any}} */
  const drag = useRef(null);
  /** @type {{current: any}} */
  const asking = useRef(null);
  const [cross, setCross] = useState(/** @type {number | null} */ (null));
  const [tip, setTip] = useState(/** @type {any} */ (null));
  const answer = bornOnly(trace.answer.value, session);
  const {top, width, height} = trace.place.value;
  const window = trace.shown.value;
  useEffect(() => watch(scroll.current, canvas.current, trace), []);
  useEffect(() => {
    // A pod that was just chosen is at the top.
    if (scroll.current.scrollTop !== top) scroll.current.scrollTop = top;
  }, [top]);
  const {past} = session.place;
  useLayoutEffect(() => {
    if (!answer) return;
    const isLive = !past && session.run.value.status !== "finished";
    const at = past ? session.model.at : null;
    const onlyEvents = trace.onlyEvents.value;
    paintLanes(canvas.current, {
      answer,
      window,
      top,
      width,
      height,
      path,
      at,
      isLive,
      onlyEvents,
      cross,
      cause: tip?.cause,
    });
  });
  const at = (event) => momentAt(event.offsetX, window, width);
  const point = (event) => {
    if (drag.current) {
      const {x, from} = drag.current;
      trace.window.value = moved(from, ((x - event.clientX) / width) * (from.end - from.start), trace.end.value);
      return;
    }
    setCross(at(event));
    const found = under(answer, {top, y: event.offsetY, at: at(event), path});
    const isSame = found?.bar !== undefined && found.bar === tip?.bar;
    setTip(found && {...found, cause: isSame ? tip.cause : null, x: event.clientX, y: event.clientY});
    if (isSame) return;
    clearTimeout(asking.current);
    if (found?.bar) asking.current = setTimeout(() => tellCause(found), HOVER_MS);
  };
  const tellCause = async (found) => {
    const cause = await trace.causeOf(found.row, found.bar);
    setTip((now) => (now?.bar === found.bar ? {...now, cause} : now));
  };
  const leave = () => {
    clearTimeout(asking.current);
    setCross(null);
    setTip(null);
  };
  const press = (event) => {
    drag.current = {x: event.clientX, from: window};
    canvas.current.setPointerCapture(event.pointerId);
  };
  const release = (event) => {
    const isClick = drag.current && Math.abs(event.clientX - drag.current.x) < CLICK;
    drag.current = null;
    if (isClick) trace.seek(at(event));
  };
  const cancel = () => {
    drag.current = null;
  };
  const total = answer?.total ?? 0;
  return html`
    <div class="tlscroll" data-picture="Lanes of time" ref=${scroll} onScroll=${() => trace.scrolled(scroll.current.scrollTop)}>
      <div class="tlinner" style=${`height:${AXIS + total * ROW + ROW}px`}>
        <div class="tlcorner"></div>
        ${answer && html`<${Labels} trace=${trace} answer=${answer} path=${path} />`}
        <canvas ref=${canvas} class="tlcanvas" aria-hidden="true" onPointerDown=${press} onPointerMove=${point} onPointerUp=${release}
          onPointerCancel=${cancel} onPointerLeave=${leave} /></div>
      ${answer && total === 0 && html`<p class="empty small tlnone">${gettext("No row has this in its name. Clear the search, or look into the events as a table.")}</p>`}</div>
    ${tip && html`<${Tip} tip=${tip} />`}`;
}

/** The answer without rows of what comes only after the instant shown, for as long as it is that of a later one. */
function bornOnly(answer, session) {
  if (!answer || !session.place.past) return answer;
  const {at} = session.model;
  return {...answer, rows: answer.rows.map((row) => (row.since > at ? {...row, ...NOT_YET} : row))};
}

const NOT_YET = {kind: "none", bars: [], nominated: [], marks: [], area: null, stage: null, event: null};

/** Keep the size of the lanes, draw anew in the other theme, and zoom with the wheel. Returns what ends this. */
function watch(scroll, canvas, trace) {
  const measure = () => {
    const width = Math.max(100, Math.floor(canvas.parentElement.clientWidth - canvas.offsetLeft));
    trace.place.value = {...trace.place.value, width, height: scroll.clientHeight};
    canvas.style.width = `${width}px`;
    canvas.style.height = `${scroll.clientHeight}px`;
  };
  const observer = new ResizeObserver(measure);
  observer.observe(scroll);
  const redraw = () => {
    trace.place.value = {...trace.place.value};
  };
  const wheel = (event) => {
    const {place} = trace;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      trace.zoom(event.deltaY > 0 ? ZOOM : 1 / ZOOM, momentAt(event.offsetX, trace.shown.value, place.value.width));
    } else if (event.shiftKey) {
      event.preventDefault();
      trace.move((event.deltaY || event.deltaX) / 1200);
    }
  };
  canvas.addEventListener("wheel", wheel, {passive: false});
  addEventListener("themechange", redraw);
  return () => {
    observer.disconnect();
    canvas.removeEventListener("wheel", wheel);
    removeEventListener("themechange", redraw);
  };
}

/** What is under the pointer: {row, bar} or {step}; null for nothing. */
function under(answer, {top, y, at, path}) {
  if (!answer || y < AXIS) return null;
  const row = answer.rows[Math.floor((y - AXIS + top) / ROW) - answer.first];
  if (row?.kind === "path") {
    const step = path?.steps.find(({from, to}) => at >= from && at < to);
    return step ? {row, step} : null;
  }
  const bar = row?.bars.findLast(({start, end}) => at >= start && at < (end ?? answer.head_at));
  return bar ? {row, bar, until: bar.end ?? answer.head_at} : null;
}

function Tip({tip: {x, y, row, bar, step, until, cause}}) {
  const style = `left:${Math.max(8, Math.min(x + 14, innerWidth - 300))}px;top:${y + 14}px`;
  if (step) {
    return html`<div class="pop tltip" style=${style}><b>${stepTitle(step)}</b> <span class="num">${duration(step.to - step.from)}</span>
      ${step.message && html`<br /><span class="mute">${step.message}</span>`}
      ${step.seq !== null && html`<br /><span class="mute">${gettext("ended with event {seq}", {seq: step.seq})}</span>`}</div>`;
  }
  return html`<div class="pop tltip" style=${style}><b>${row.name}</b><br />${stateTitle(bar.state)} <span class="num">${duration(until - bar.start)}</span>
    ${bar.states > 1 && html`<br /><span class="mute">${gettext("the worst of {states} states", {states: bar.states})}</span>`}
    <br /><span class="mute num">${gettext("{start} → {until}, event {seq}", {start: moment(bar.start), until: timeText(until), seq: bar.seq})}</span>
    ${cause && html`<br /><span class="mute">${gettext("because of {name}, event {seq} {kind}", {name: parseId(cause.object).name, seq: cause.seq, kind: cause.kind})}</span>`}</div>`;
}
