import {html} from "../../lib/html.js";
import {RunPage} from "../run/run_page.js";
import {TablePage} from "../run/timeline_page.js";
import {TracePage} from "./trace_page.js";

/** What happened in a run: as lanes of time, or as a table of its events. */
export function TimelinePage({session, trace, events, asTable}) {
  const turn = (isOn) => {
    asTable.value = isOn;
    session.address.write({as: isOn ? "table" : null, ...(isOn ? {} : events.noFilters())}, {isJump: true});
  };
  return html`<${RunPage} session=${session}>${
    asTable.value
      ? html`<${TablePage} session=${session} events=${events} podPath=${trace.podPath} onLanes=${() => turn(false)} />`
      : html`<${TracePage} session=${session} trace=${trace} onTable=${() => turn(true)} />`
  }<//>`;
}
