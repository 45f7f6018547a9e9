import {html} from "../../lib/html.js";
import {gettext} from "../../lib/words.js";
import {count, timeText} from "../../model/shared/format.js";
import {NO_FORK} from "../../model/shared/rights.js";
import {Mark} from "../shared/mark.js";
import {AnswerBanner} from "./answer.js";
import {Consent} from "./consent.js";
import {KeysDialog} from "./keys.js";
import {LeftOut, StopBanner} from "./left_out.js";
import {Notice} from "./notice.js";
import {PastBanner, Transport} from "./transport.js";
import {TryAgain} from "../shared/try_again.js";

/** A page of a run: playback, banners, notices and dialogs, then its own content; `keys` are those of this page. */
export function RunPage({session, keys = [], children}) {
  return html`
    <${AnswerBanner} session=${session} />
    <${Transport} session=${session} />
    <${PastBanner} session=${session} />
    <${ForkBanner} session=${session} />
    <${ImportedBanner} session=${session} />
    <${OtherVersionBanner} session=${session} />
    <${StopBanner} session=${session} />
    <${LeftOut} session=${session} />
    <${Notice} session=${session} />
    <${Consent} session=${session} />
    <${KeysDialog} own=${keys} />
    ${children}`;
}

/** Shown while a fork is computed up to the event where it begins; commands take effect after that. */
function ForkBanner({session}) {
  const {goal_at: goal, imported} = session.run.value;
  if (goal === null || goal === undefined || session.run.value.status === "failed") return null;
  if (imported)
    return html`
    <div class="past-banner" role="status"><${Mark} name="in-flight" family="working" /><b>${gettext("Playing again")}</b>
      <span>${gettext("to {goal}, where the file ends. Your commands take effect after that.", {goal: timeText(goal)})}</span></div>`;
  return html`
    <div class="past-banner" role="status"><${Mark} name="in-flight" family="working" /><b>${gettext("Catching up")}</b>
      <span>${gettext("to {goal}, where this fork begins. Your commands take effect after that.", {goal: timeText(goal)})}</span></div>`;
}

/** Shown for a run that came as a file and comes out otherwise: from which event, and what both have there. */
function ImportedBanner({session}) {
  const {imported} = session.run.value;
  if (imported?.verdict !== "parted") return null;
  const {parted_seq: seq, mine, theirs} = imported;
  return html`
    <div class="past-banner long parted" role="status"><${Mark} name="gated" family="held" /><b>${gettext("Another history")}</b>
      <span>${gettext("From event {seq} on, this version of kscope decides differently from what the file says.", {seq: count(seq)})}</span>
      <span class="told">${inTheFile(theirs)}</span><span class="told">${mine ? gettext("Here: {text}", {text: mine}) : gettext("Here there is no such event.")}</span></div>`;
}

/** What a file has at an event; null where it does not say so, "" for nothing. */
function inTheFile(text) {
  if (text === null) return gettext("The file has no history, so it does not say what was there.");
  return text ? gettext("In the file: {text}", {text}) : gettext("In the file there is no such event.");
}

/** Shown for a run that another version of kscope recorded and that this version decides differently. */
function OtherVersionBanner({session}) {
  const {differs_from: seq} = session.run.value;
  if (seq === null || seq === undefined) return null;
  return html`
    <div class="past-banner long" role="status"><${Mark} name="gated" family="held" /><b>${gettext("Read only")}</b>
      <span>${gettext("Recorded by another version of kscope. From event {seq} on, this version decides differently.", {seq: count(seq)})}</span>
      <button class="btn" disabled=${!session.mayFork} title=${session.mayFork ? undefined : NO_FORK} onClick=${() => session.commands.repeat()}>${gettext("Run again with this version")}</button></div>`;
}

/** Whether the state to show is not loaded yet. */
export function isWaiting(session) {
  return session.isWaiting;
}

/** Shown until the state is loaded, or the reason why it cannot be. */
export function Reading({session}) {
  const opening = session?.playhead.opening.value;
  if (!opening) return html`<p class="small mute" role="status">${gettext("Reading the state of the run…")}</p>`;
  if (!opening.problem)
    return html`<p class="small mute" role="status">${gettext("Reading event {seq}", {seq: count(opening.seq)})}…</p>`;
  return html`
    <div class="unread" role="alert"><p class="small">${gettext("Event {seq} cannot be shown. {problem}", {seq: count(opening.seq), problem: opening.problem})}</p>
      <p class="does"><${TryAgain} main retry=${() => session.playhead.open()} />
        <button class="btn" onClick=${() => session.playhead.jumpToNewest()}>${gettext("Show the newest event")}</button></p></div>`;
}
