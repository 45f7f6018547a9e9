import {useRef} from "preact/hooks";

import {html} from "../../lib/html.js";
import {gettext, ngettext} from "../../lib/words.js";
import {COMPONENTS, NO_FILTERS} from "../../model/run/timeline_filters.js";
import {eventText} from "../../model/shared/event_words.js";
import {count, moment, parseId} from "../../model/shared/format.js";
import {ByWhom, EventLink, Kind} from "../shared/events.js";
import {roomForRows, useRowsOnPage} from "../shared/in_sight.js";
import {Term} from "../shared/term.js";
import {TryAgain} from "../shared/try_again.js";
import {Unchanged} from "../shared/unchanged.js";
import {PathSection} from "./path.js";
import {Reading, isWaiting} from "./run_page.js";

/** The events of a run up to the one shown as a table, each with a link to it. */
export function TablePage({session, events, podPath, onLanes}) {
  if (isWaiting(session)) {
    return html`<main class="page"><h1>${gettext("Timeline")}</h1><${Reading} session=${session} /></main>`;
  }
  const rows = events.shown.value;
  return html`
    <main class="page timelinepage">
      <${Head} session=${session} events=${events} onLanes=${onLanes} />
      <${PathSection} session=${session} podPath=${podPath} />
      <${Filters} session=${session} events=${events} />
      <${Later} session=${session} events=${events} />
      <${Rows} session=${session} rows=${rows}><colgroup><col class="seq" /><col class="at" /><col class="by-whom" /><col class="about" /><col /></colgroup>
        <thead><tr><th><${Term} word="seq">${gettext("Seq")}<//></th><th>${gettext("Time, s")}</th><th>${gettext("Component")}</th><th>${gettext("Object")}</th><th>${gettext("What happened")}</th></tr></thead><//>
      <${Foot} session=${session} events=${events} rows=${rows} />
    </main>`;
}

function Head({session, events, onLanes}) {
  const {seq, past} = session.place;
  const extent = past
    ? gettext("up to event {seq} of {head}", {seq: count(seq), head: count(session.live.head.seq)})
    : ngettext("{count} event in all", "{count} events in all", session.live.head.seq);
  return html`
    <div class="pagehead"><h1>${gettext("Timeline")}</h1><span class="micro mute" role="status">${extent}</span>
      <div class="end"><button class="btn" onClick=${onLanes}>${gettext("As lanes")}</button>${(session.isRecorded
        ? []
        : ["ndjson", "csv"]
      ).map(
        (format) => html`
        <a key=${format} class="btn" download href=${events.exportUrl(format)} title=${gettext("These events as {format}", {format: format.toUpperCase()})}>${format.toUpperCase()}</a>`,
      )}</div></div>`;
}

/** A component, as one types it. */
const EXAMPLE = "scheduler";

function Filters({session, events}) {
  const filters = events.filters.value;
  const submit = (event) => {
    event.preventDefault();
    const given = [...new FormData(event.currentTarget)].map(([name, value]) => [name, String(value).trim()]);
    events.filter({kubernetes: "", ...Object.fromEntries(given)});
  };
  // Filters from a link or the back button need a new form.
  return html`
    <form key=${JSON.stringify(filters)} class="filters formgrid" aria-label=${gettext("Filter events")} onSubmit=${submit}>
      <label class="input">${gettext("Kind")}<input name="kind" defaultValue=${filters.kind} placeholder="PodBound" /></label>
      <label class="input">${gettext("Object")}<input name="object" defaultValue=${filters.object} placeholder="pod/shop/web-1" size="28" list="objects" autocomplete="off"
        onInput=${(input) => {
          events.typed.value = input.currentTarget.value;
        }} /><${Objects} events=${events} /></label>
      <label class="input">${gettext("Component")}<input name="component" defaultValue=${filters.component} placeholder=${EXAMPLE} list="components" size="16" />
        <datalist id="components">${COMPONENTS.map((name) => html`<option key=${name} value=${name} />`)}</datalist></label>
      <label class="input">${gettext("From, s")}<input name="from" defaultValue=${filters.from} inputmode="decimal" size="8" /></label>
      <label class="input">${gettext("To, s")}<input name="to" defaultValue=${filters.to} inputmode="decimal" size="8" /></label>
      <label class="input">${gettext("Order")}<select name="order"><option value="desc" selected=${filters.order === "desc"}>${gettext("newest first")}</option>
        <option value="asc" selected=${filters.order === "asc"}>${gettext("oldest first")}</option></select></label>
      <label class="check small"><input type="checkbox" name="kubernetes" value="1" defaultChecked=${filters.kubernetes === "1"}
        onChange=${(input) => events.filter({kubernetes: input.currentTarget.checked ? "1" : ""})} /> ${gettext("Only Kubernetes Events")}</label>
      <button class="btn primary">${gettext("Apply filters")}</button>
      ${session
        .selectedIds()
        .filter((id) => id !== filters.object)
        .map(
          (id) => html`
        <button type="button" key=${id} class="btn plain" title=${gettext("Only events about {id}", {id})} onClick=${() => events.filter({object: id})}>${gettext("Only {name}", {name: parseId(id).name})}</button>`,
        )}
      <button type="button" class="btn plain" onClick=${() => events.filter(NO_FILTERS)}>${gettext("Clear filters")}</button>
    </form>`;
}

/** Suggests objects as one types, and says at once when none has such a name. */
function Objects({events}) {
  const typed = events.typed.value.trim();
  const isPrefix = typed.endsWith("/") || typed.endsWith("*");
  const held = events.named.held.value;
  if (!typed || !held || events.named.isLate.value) return html`<datalist id="objects"></datalist>`;
  const found = held.rows.map(({id}) => id);
  return html`<datalist id="objects">${found.map((id) => html`<option key=${id} value=${id} />`)}</datalist>
    ${found.length === 0 && html`<span class="micro tinted f-clock" role="status">${gettext("No object at this instant has “{typed}” in its name.", {typed})}</span>`}
    ${found.length > 0 && !isPrefix && !found.includes(typed) && html`<span class="micro mute" role="status">${found.length === 1 ? gettext("Not a whole name; it is in {id}.", {id: found[0]}) : gettext("Not a whole name; it is in {id} and others.", {id: found[0]})}</span>`}`;
}

/** Says how many events come after the one shown, and can list them. */
function Later({session, events}) {
  const {seq, past} = session.place;
  const later = session.live.head.seq - seq;
  if (!past || later <= 0) return null;
  const isShown = events.withLater.value;
  return html`
    <p class="small soft laterline">${laterWords(later, isShown)}
      ${" "}<button class="btn" aria-pressed=${String(isShown)} onClick=${() => {
        events.withLater.value = !isShown;
      }}>${isShown ? gettext("Hide later events") : gettext("Show later events")}</button></p>`;
}

function laterWords(number, isShown) {
  return isShown
    ? ngettext(
        "{count} later event; the next ones are listed in grey.",
        "{count} later events; the next ones are listed in grey.",
        number,
      )
    : ngettext("{count} later event is not shown.", "{count} later events are not shown.", number);
}

/** The table: its rows are drawn again when one of them changes, what is above them is not. */
function Rows({session, rows, children}) {
  const shown = session.keptSeq.value;
  /** @type {{current: any}} */
  const table = useRef(null);
  const drawn = useRowsOnPage(table, session.isMoving);
  return html`<table class=${`tbl timeline${session.isMoving ? " moving" : ""}`} ref=${table} style=${roomForRows(drawn, rows.length)}>${children}<tbody>${rows
    .slice(0, drawn)
    .map(({event, isLater}, i) => {
      const look = isLater ? "later" : event.seq === shown ? "now" : "";
      return html`<${Unchanged} key=${session.isMoving ? i : event.seq} draw=${Row} session=${session} event=${event} look=${look} />`;
    })}</tbody></table>`;
}

function Row({session, event, look}) {
  return html`
    <tr class=${look}>
      <td class="mono"><${EventLink} session=${session} seq=${event.seq}>${event.seq}<//></td>
      <td class="num mute">${moment(event.at)}</td><td><${ByWhom} component=${event.component} /></td>
      <td title=${event.object ?? ""}><${About} session=${session} event=${event} /></td>
      <td><${Kind} session=${session} event=${event} /> <span class="soft">${eventText(event)}</span></td></tr>`;
}

const PAGES = {pod: "pod", node: "node"};

/** The object of an event; a pod or a node links to its page at that event. */
function About({session, event: {object, seq}}) {
  const {kind, key} = parseId(object ?? "");
  if (!PAGES[kind] || !key) return object ?? "";
  return html`<a href=${session.href(PAGES[kind], {of: key, seq})}>${object}</a>`;
}

function Foot({session, events, rows}) {
  const status = events.status.value;
  const problem = events.problem.value;
  const {next} = events.held.value;
  const turned = events.cursors.value.length;
  if (problem) {
    return html`<div class="listfoot" role="alert"><span class="small tinted f-stuck">${problem}</span>
      <${TryAgain} retry=${() => events.retry()} /></div>`;
  }
  const none = session.place.past ? gettext("No event up to this one matches.") : gettext("No event matches.");
  const listed = rows.filter(({isLater}) => !isLater).length;
  const words = status === "loading" ? gettext("Reading events…") : listed > 0 ? shownWords(listed, turned) : none;
  return html`
    <div class="listfoot">${
      (turned > 0 || next !== null) &&
      html`<button class="btn" disabled=${turned === 0} onClick=${() => events.turn(-1)}>${gettext("Previous")}</button>
        <button class="btn" disabled=${next === null} onClick=${() => events.turn(1)}>${gettext("Next")}</button>`
    }
      <span class="small mute" role="status">${words}</span></div>`;
}

function shownWords(listed, turned) {
  const shown = count(listed);
  if (turned === 0) return gettext("{listed} shown", {listed: shown});
  return gettext("page {page}, {listed} shown", {page: count(turned + 1), listed: shown});
}
