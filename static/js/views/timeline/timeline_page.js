import {html} from "../../lib/html.js";
import {gettext} from "../../lib/words.js";
import {RunPage} from "../run/run_page.js";
import {TablePage} from "../run/timeline_page.js";
import {TracePage} from "./trace_page.js";

/** The keys of the lanes; see connectTimelineKeys. @type {[string[], string][]} */
const KEYS = [
  [["w", "+"], gettext("Zoom in")],
  [["s", "-"], gettext("Zoom out")],
  [["a", "d"], gettext("Move to earlier or later")],
  [["f"], gettext("Show the whole path, or the whole run")],
  [["/"], gettext("Find an object")],
  [["Esc"], gettext("Choose nothing")],
  [["↑", "↓"], gettext("Go from row to row")],
  [["Enter"], gettext("Open a row, or choose its pod")],
  [["."], gettext("Go to the next event of the row; without a row, step one event")],
  [["Ctrl", "wheel"], gettext("Zoom around the pointer")],
  [["Shift", "wheel"], gettext("Move to earlier or later")],
];

/** What happened in a run: as lanes of time, or as a table of its events. */
export function TimelinePage({session, trace, events, asTable}) {
  const turn = (isOn) => {
    asTable.value = isOn;
    session.address.write({as: isOn ? "table" : null, ...(isOn ? {} : events.noFilters())}, {isJump: true});
  };
  return html`<${RunPage} session=${session} keys=${asTable.value ? [] : KEYS}>${
    asTable.value
      ? html`<${TablePage} session=${session} events=${events} podPath=${trace.podPath} onLanes=${() => turn(false)} />`
      : html`<${TracePage} session=${session} trace=${trace} onTable=${() => turn(true)} />`
  }<//>`;
}
