import {html} from "../../lib/html.js";
import {RunPage} from "../run/run_page.js";
import {TablePage} from "../run/timeline_page.js";
import {TracePage} from "./trace_page.js";

/** The keys of the lanes; see connectTimelineKeys. @type {[string[], string][]} */
const KEYS = [
  [["w", "+"], "Zoom in"],
  [["s", "-"], "Zoom out"],
  [["a", "d"], "Move to earlier or later"],
  [["f"], "Show the whole path, or the whole run"],
  [["/"], "Find an object"],
  [["Esc"], "Choose nothing"],
  [["↑", "↓"], "Go from row to row"],
  [["Enter"], "Open a row, or choose its pod"],
  [["."], "Go to the next event of the row; without a row, step one event"],
  [["Ctrl", "wheel"], "Zoom around the pointer"],
  [["Shift", "wheel"], "Move to earlier or later"],
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
