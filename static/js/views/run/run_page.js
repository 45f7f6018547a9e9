import {html} from "../../lib/html.js";
import {count, moment} from "../../model/shared/format.js";
import {NO_FORK} from "../../model/shared/rights.js";
import {Mark} from "../shared/mark.js";
import {Consent} from "./consent.js";
import {LeftOut, StopBanner} from "./left_out.js";
import {Notice} from "./notice.js";
import {PastBanner, Transport} from "./transport.js";

/** What every page of a run has above its own content: the transport, banners, notices and questions. */
export function RunPage({session, children}) {
  return html`
    <${Transport} session=${session} />
    <${PastBanner} session=${session} />
    <${ForkBanner} session=${session} />
    <${OtherVersionBanner} session=${session} />
    <${StopBanner} session=${session} />
    <${LeftOut} session=${session} />
    <${Notice} session=${session} />
    <${Consent} session=${session} />
    ${children}`;
}

/** Said while a fork is being brought to the instant it begins at; what is asked of it comes after that. */
function ForkBanner({session}) {
  const {goal_at: goal} = session.run.value;
  if (goal === null || goal === undefined || session.run.value.status === "failed") return null;
  return html`
    <div class="past-banner" role="status"><${Mark} name="in-flight" family="working" /><b>Catching up</b>
      <span>to ${moment(goal)} s, where this fork begins. Your commands take effect after that.</span></div>`;
}

/** Said of a run that another version of kscope recorded and that this one would decide differently. */
function OtherVersionBanner({session}) {
  const {differs_from: seq} = session.run.value;
  if (seq === null || seq === undefined) return null;
  return html`
    <div class="past-banner long" role="status"><${Mark} name="gated" family="held" /><b>Read only</b>
      <span>Recorded by another version of kscope. From event ${count(seq)} on, this version decides differently.</span>
      <button class="btn" disabled=${!session.mayFork} title=${session.mayFork ? undefined : NO_FORK} onClick=${() => session.commands.repeat()}>Run again with this version</button></div>`;
}

/** Whether there is no state to show yet, of now or of the past. */
export function isWaiting(session) {
  return session.isWaiting;
}

/** Said until the state is there, or why it cannot be. */
export function Reading({session}) {
  const opening = session?.playhead.opening.value;
  if (!opening) return html`<p class="small mute" role="status">Reading the state of the run…</p>`;
  if (!opening.problem) return html`<p class="small mute" role="status">Reading event ${count(opening.seq)}…</p>`;
  return html`
    <div class="unread" role="alert"><p class="small">Event ${count(opening.seq)} cannot be shown. ${opening.problem}</p>
      <p class="does"><button class="btn primary" onClick=${() => session.playhead.open()}>Try again</button>
        <button class="btn" onClick=${() => session.playhead.jumpToNewest()}>Show the newest event</button></p></div>`;
}
