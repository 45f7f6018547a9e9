import {html} from "../../lib/html.js";
import {gettext, listText, ngettext} from "../../lib/words.js";
import {count, duration, tick} from "../../model/shared/format.js";
import {LEGEND} from "../../model/timeline/look.js";
import {Reading, isWaiting} from "../run/run_page.js";
import {Icon} from "../shared/mark.js";
import {Lanes} from "./lanes.js";
import {Minimap} from "./minimap.js";
import {Side} from "./side.js";
import {TryAgain} from "../shared/try_again.js";

const ZOOM = 1.5;

/** Lanes of time, one for each object or component. */
export function TracePage({session, trace, onTable}) {
  if (isWaiting(session)) {
    return html`<main class="page"><h1>${gettext("Timeline")}</h1><${Reading} session=${session} /></main>`;
  }
  const path = chosenPath(session, trace);
  const isStale = isOfAnotherInstant(session, trace);
  return html`
    <main class=${`tlpage${isStale ? " stale" : ""}`} aria-busy=${String(isStale)} aria-label=${gettext("Timeline")}><h1 class="vh">${gettext("Timeline")}</h1>
      <${Tools} trace=${trace} onTable=${onTable} />
      <div class="tlmini"><${Extent} session=${session} trace=${trace} /><${Minimap} trace=${trace} path=${path} /></div>
      ${trace.problem.value && html`<${Failed} trace=${trace} />`}
      <div class=${`tlbody${trace.problem.value ? " failed" : ""}`}><${Lanes} session=${session} trace=${trace} path=${path} /><${Side} session=${session} trace=${trace} /></div>
    </main>`;
}

/** The path of the chosen pod, once it is known at the event shown. */
function chosenPath(session, trace) {
  const path = trace.podPath.path.value;
  const {seq, past} = session.place;
  if (!path || path.pod !== session.selection.pod.value || path.steps.length === 0) return null;
  return past && path.seq !== seq ? null : path;
}

/** Whether sums are not known yet for the event shown: those of another one are not shown meanwhile. */
function isOfAnotherInstant(session, trace) {
  const answer = trace.answer.value;
  const {seq, past} = session.place;
  if (!answer) return false;
  return past ? answer.seq !== Math.min(seq, answer.read) : answer.of.seq !== null;
}

function Tools({trace, onTable}) {
  const window = trace.shown.value;
  return html`
    <div class="tltools">
      <label class="find"><${Icon} name="search" /><input id="timeline-find" value=${trace.text.value} placeholder=${gettext("find an object")} aria-label=${gettext("Find an object")}
        aria-keyshortcuts="/" onInput=${(event) => trace.find(event.currentTarget.value)} /><kbd aria-hidden="true">/</kbd></label>
      <div class="seg" role="group" aria-label=${gettext("Lanes by")}>${["objects", "components"].map(
        (by) =>
          html`<button key=${by} aria-pressed=${String(trace.by.value === by)} onClick=${() => trace.lanesBy(by)}>${by === "objects" ? gettext("Objects") : gettext("Components")}</button>`,
      )}</div>
      <label class="check"><input type="checkbox" checked=${trace.onlyEvents.value} onChange=${(event) => trace.showOnlyEvents(event.currentTarget.checked)} />${gettext("Only Kubernetes Events")}</label>
      <label class="check"><input type="checkbox" checked=${trace.onlySlow.value} onChange=${(event) => {
        trace.onlySlow.value = event.currentTarget.checked;
      }} />${gettext("Only what waited 5 s or more")}</label>
      <button class="btn" onClick=${onTable}>${gettext("As a table")}</button>
      <div class="zoom"><button class="btn icon" aria-label=${gettext("Zoom out")} aria-keyshortcuts="s -" onClick=${() => trace.zoom(ZOOM)}>−</button>
        <output class="num" aria-label=${gettext("Length of the window")}>${tick(window.end - window.start, window.end - window.start)}</output>
        <button class="btn icon" aria-label=${gettext("Zoom in")} aria-keyshortcuts="w +" onClick=${() => trace.zoom(1 / ZOOM)}>+</button>
        <button class="btn" aria-keyshortcuts="f" onClick=${() => trace.fit()}>${gettext("Fit")}</button></div>
      <ul class="legend" aria-label=${gettext("What bars mean")}>${LEGEND.map(
        ({state, family, shape, title}) =>
          html`<li key=${state} class=${`f-${family}`}><i class=${`lg ${shape}`}></i>${title}</li>`,
      )}</ul>
    </div>`;
}

/** How many events there are, how far a long history was read, and to when it goes. */
function Extent({session, trace}) {
  const {seq, past} = session.place;
  const {head} = session.live;
  const answer = trace.answer.value;
  const left = answer && answer.read < answer.head;
  return html`<div class="minilab" role="status"><b class="num">${count(past ? seq : head.seq)}</b> ${past ? ngettext("of {count} event", "of {count} events", head.seq) : gettext("events")}<br />
    <span class="mute">${left ? gettext("read up to event {read}…", {read: count(answer.read)}) : listText([duration(trace.end.value), ...(session.run.value.status === "finished" ? [gettext("finished")] : [])])}</span></div>`;
}

function Failed({trace}) {
  return html`<div class="tlfailed" role="alert"><span class="small tinted f-stuck">${trace.problem.value}</span>
    <${TryAgain} retry=${() => trace.retry()} /></div>`;
}
