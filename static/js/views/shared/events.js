import {useRef} from "preact/hooks";

import {html} from "../../lib/html.js";
import {gettext, ngettext} from "../../lib/words.js";
import {eventText, withEvictors} from "../../model/shared/event_words.js";
import {author, moment, parseId} from "../../model/shared/format.js";
import {useRowsInSight} from "./in_sight.js";
import {CycleLink, FilmLink, ObjectLink} from "./links.js";

/** The height of a row in pixels. */
const ROW = 25;
const LISTED_EVENTS = 40;

/** The newest events up to what is shown, newest first. */
export function EventList({session}) {
  const {events} = session.model.run;
  /** @type {{current: any}} */
  const scroll = useRef(null);
  const inSight = useRowsInSight(scroll, ROW);
  const [digits, places] = [events[0]?.seq ?? 0, moment(events[0]?.at ?? 0)].map((each) => String(each).length);
  return html`
    <section class="events" aria-label=${gettext("Events")}>
      <div class="foothead"><h2>${gettext("Events")}</h2><span class="micro mute">${gettext("newest first")}</span>
        <a href=${session.href("timeline")}>${gettext("Open timeline")}</a></div>
      <div class="evscroll" ref=${scroll} tabindex="0" role="region" aria-label=${gettext("Newest events")}>
      <table class="ev" style=${`--digits:${digits};--places:${places}`}><colgroup><col class="seq" /><col class="at" /><col class="by-whom" /><col class="about" /><col /></colgroup>
        <thead class="vh"><tr><th>${gettext("Seq")}</th><th>${gettext("Time in seconds")}</th><th>${gettext("Component")}</th><th>${gettext("Object")}</th><th>${gettext("What happened")}</th></tr></thead>
        <tbody>${withEvictors(events)
          .slice(0, Math.min(LISTED_EVENTS, inSight))
          .map((event, i) => html`<${Row} key=${i} session=${session} event=${event} now=${i === 0} />`)}</tbody>
      </table>
      <div style=${`height:${Math.max(0, Math.min(LISTED_EVENTS, events.length) - inSight) * ROW}px`}></div>
      ${events.length === 0 && html`<p class="empty small mute">${gettext("Nothing has happened yet. Press Play, or step one event.")}</p>`}
      </div>
    </section>`;
}

/** The newest events about an object, newest first, with links; the timeline has the others. */
export function EventTable({session, id, events}) {
  if (events.length === 0) return null;
  return html`
    <section class="sec" aria-label=${gettext("Events")}><div class="sechead"><h2>${gettext("Events")}</h2><span class="note">${ngettext("{count}, newest first", "{count}, newest first", events.length)}</span>
        <div class="end"><a class="btn" href=${session.href("timeline", {object: id})}>${gettext("Show in timeline")}</a></div></div>
      <table class="tbl timeline"><colgroup><col style="width:80px" /><col style="width:84px" /><col style="width:128px" /><col /></colgroup>
        <thead><tr><th>${gettext("Seq")}</th><th>${gettext("Time, s")}</th><th>${gettext("Component")}</th><th>${gettext("What happened")}</th></tr></thead>
        <tbody>${events.slice(0, LISTED_EVENTS).map(
          (event) => html`
          <tr key=${event.seq} ...${rowOf(session, event.seq)}><td class="mono"><${EventLink} session=${session} seq=${event.seq}>${event.seq}<//></td>
            <td class="num mute">${moment(event.at)}</td><td><${ByWhom} component=${event.component} /></td>
            <td>${event.object && event.object !== id && html`<${ObjectLink} session=${session} id=${event.object}>${parseId(event.object).key}<//> `}<${Kind} session=${session} event=${event} /> <span class="soft">${eventText(event)}</span></td></tr>`,
        )}</tbody></table></section>`;
}

/** The component that wrote an event, with its colour. */
export function ByWhom({component}) {
  return html`<span title=${component}><span class="by" style=${`--b:var(--by-${component}, var(--held))`}></span>${author(component)}</span>`;
}

const STARTED = /^cycle (\d+), attempt/;

/** The kind of an event; a scheduling cycle leads to its inside where it begins, and to its film where it begins or ends. */
export function Kind({session, event: {seq, kind, object, message, component}}) {
  if (kind === "PodBound" && component === "scheduler")
    return html`<b class="kind">${kind}</b> <${FilmLink} session=${session} pod=${object} until=${seq} />`;
  const cycle = kind === "AttemptStarted" ? STARTED.exec(message)?.[1] : undefined;
  if (cycle === undefined) return html`<b class="kind">${kind}</b>`;
  return html`<b class="kind"><${CycleLink} session=${session} cycle=${cycle} pod=${object}>${kind}<//></b> <${FilmLink} session=${session} cycle=${cycle} pod=${object} />`;
}

/**
 * The attributes of a row that shows its event when it is clicked, but for its links and buttons. Its link is for keys.
 */
export function rowOf(session, seq) {
  const onClick = ({target}) => {
    const picks = target.closest("a, button") || String(getSelection()) !== "";
    if (!picks) session.playhead.seek({seq}, {isJump: true});
  };
  return {"data-seq": seq, onClick};
}

/** A link that shows an event on the same page, or in a new tab with a modifier key. */
export function EventLink({session, seq, children}) {
  const go = (click) => {
    if (click.ctrlKey || click.metaKey || click.shiftKey) return;
    click.preventDefault();
    session.playhead.seek({seq}, {isJump: true});
  };
  return html`<a href=${session.hrefAt(seq)} title=${gettext("Show this event")} onClick=${go}>${children}</a>`;
}

function Row({session, event, now}) {
  const {kind, name} = parseId(event.object ?? "");
  const pick = kind === "pod" && session.model.entities.has(event.object);
  return html`
    <tr class=${now ? "now" : ""} ...${rowOf(session, event.seq)}>
      <td class="mono mute"><${EventLink} session=${session} seq=${event.seq}>${event.seq}<//></td><td class="num mute">${moment(event.at)}</td>
      <td><${ByWhom} component=${event.component} /></td>
      <td title=${name === "" ? undefined : event.object}>${pick ? html`<button class="link" onClick=${() => session.pick(event.object)}>${name}</button>` : name}</td>
      <td title=${`${event.kind} ${eventText(event)}`}><${Kind} session=${session} event=${event} /> <span class="soft">${eventText(event)}</span></td>
    </tr>`;
}
