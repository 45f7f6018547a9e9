import {useRef} from "preact/hooks";

import {html} from "../../lib/html.js";
import {gettext, listText, ngettext} from "../../lib/words.js";
import {markLook, parseMoment, parseSeq, partOf, ticks} from "../../model/run/timeline.js";
import {count, moment, tick as tickText, timeText} from "../../model/shared/format.js";
import {READ_ONLY} from "../../model/shared/rights.js";
import {PictureButton} from "../picture/picture_dialog.js";
import {Icon, Mark} from "../shared/mark.js";
import {ChangeMenu} from "./change_menu.js";
import {ExportMenu} from "./export_menu.js";
import {KeysButton} from "./keys.js";

/** On a narrow axis a tick after this position would overlap the last one. */
const NEAR_END = 0.85;

const UNKNOWN = "…";

const SPEEDS = [
  ["1", "1×"],
  ["10", "10×"],
  ["100", "100×"],
  ["max", "max"],
];

const PAUSE = [gettext("Pause"), gettext("Pause (key: Space)")];
const REPLAY = [gettext("Replay from here"), gettext("Replay from here (key: Space)")];
const PLAY = [gettext("Play"), gettext("Play (key: Space)")];
const PLAY_ALL = [gettext("Play from the beginning"), gettext("Play from the beginning (key: Space)")];
const NOTHING_FOLLOWS = gettext("Nothing was recorded after this event.");

export function Transport({session}) {
  const run = session.run.value;
  const {past} = session.place;
  const waits = session.isWaiting && past;
  const playing = past ? session.playhead.replaying.value : run.status === "playing";
  // Replaying recorded events needs no right to change the run.
  const {isRecorded} = session;
  const failed = !past && (run.status === "failed" || !session.mayChange);
  const barred = past || session.mayChange ? null : isRecorded ? NOTHING_FOLLOWS : READ_ONLY;
  const [verb, withKey] = playing ? PAUSE : past ? REPLAY : isRecorded ? PLAY_ALL : PLAY;
  const hasSpeeds = session.mayChange || isRecorded;
  return html`
    <section class="transport" aria-label=${gettext("Playback")}>
      <div class="keys">
        <button class="btn icon" aria-label=${gettext("Step one event back")} title=${gettext("Step one event back (key: ,)")}
          disabled=${waits || session.model.seq <= 0} onClick=${() => session.playhead.stepBack()}><${Icon} name="back" /></button>
        <button class="btn icon primary" aria-label=${spoken(verb, run, past)}
          title=${isRecorded ? withKey : (barred ?? withKey)} disabled=${waits || (failed && !isRecorded)} onClick=${() => session.playhead.togglePlay()}>
          <${Icon} name=${playing ? "pause" : "play"} /></button>
        <button class="btn" aria-label=${gettext("Step one event")} title=${barred ?? gettext("Step one event (key: .)")} disabled=${waits || failed}
          onClick=${() => session.playhead.stepEvent()}><${Icon} name="step" /><span class="lbl">${gettext("Event")}</span></button>
        <button class="btn" aria-label=${gettext("Step one scheduling cycle")} title=${barred ?? gettext("Step one scheduling cycle (keys: Shift .)")}
          disabled=${waits || failed} onClick=${() => session.playhead.stepCycle()}><${Icon} name="cycle" /><span class="lbl">${gettext("Cycle")}</span></button>
        <div class="seg" role="group" aria-label=${gettext("Speed")}>
          ${SPEEDS.map(
            ([
              speed,
              text,
            ]) => html`<button key=${speed} disabled=${!hasSpeeds} title=${hasSpeeds ? undefined : READ_ONLY} aria-pressed=${String(String(run.speed) === speed)}
            onClick=${() => session.commands.speed(speed)}>${text}</button>`,
          )}
        </div>
        <${KeysButton} /><${PictureButton} />
        <${ChangeMenu} session=${session} />
        <${ExportMenu} session=${session} />
      </div>
      <${Readout} session=${session} />
      <${Scrubber} session=${session} />
      <${Tail} session=${session} />
    </section>`;
}

/** The number of events, or the event that is being loaded. */
function Tail({session}) {
  const aim = session.playhead.aim.value;
  const end =
    session.run.value.status === "finished"
      ? gettext("events, finished")
      : ngettext("event", "events", session.live.head.seq);
  const [first, second] = aim
    ? [
        gettext("reading"),
        aim.seq === undefined ? `${timeText(aim.at)}…` : gettext("event {seq}…", {seq: count(aim.seq)}),
      ]
    : [count(session.live.head.seq), end];
  return html`<div class="tail micro mute right" role=${aim ? "status" : undefined}>${first}<br />${second}</div>`;
}

/** A finished run can be played: a change may have given it more to do. */
function spoken(verb, run, past) {
  return !past && run.status === "finished" ? listText([verb, gettext("the run is finished")]) : verb;
}

/** The event shown, {seq, at}; null for what is not known yet. */
function readout(session) {
  if (session.isWaiting) return {seq: session.playhead.opening.value?.seq ?? null, at: null};
  return session.model;
}

function Readout({session}) {
  const {seq, at} = readout(session);
  return html`
    <div class="readout">
      <label class="field" title=${gettext("Virtual time. Type a time and press Enter: 42.35 or 5m30s.")}><span>${gettext("t")}</span><${Typed} id="time" value=${at === null ? UNKNOWN : moment(at)} mode="decimal"
        label=${gettext("Virtual time in seconds")} parse=${parseMoment} take=${(value) => session.playhead.seek({at: value}, {isJump: true})}
        refuse=${(text) => session.notices.say(gettext("“{text}” is not a time. Type seconds, such as 42.35, or 5m30s.", {text}))} /><span>${gettext("s")}</span></label>
      <label class="field" title=${gettext("Number of the event shown. Type a number and press Enter.")}><span>${gettext("seq")}</span><${Typed} id="seq" value=${seq === null ? UNKNOWN : String(seq)} mode="numeric"
        label=${gettext("Sequence number")} short parse=${parseSeq} take=${(value) => session.playhead.seek({seq: value}, {isJump: true})}
        refuse=${(text) => session.notices.say(gettext("“{text}” is not the number of an event, such as 812.", {text}))} /></label>
    </div>`;
}

/** A field that follows the run, except while it has the focus. */
function Typed({id, value, label, mode, short, parse, take, refuse}) {
  /** @type {{current: any}} */
  const input = useRef(null);
  const editing = input.current !== null && document.activeElement === input.current;
  const leave = () => {
    if (!input.current) return;
    input.current.value = value;
    input.current.removeAttribute("aria-invalid");
  };
  const enter = () => {
    const {value: text} = input.current;
    const wanted = parse(text);
    if (wanted === null) {
      input.current.setAttribute("aria-invalid", "true");
      refuse(text);
      return;
    }
    input.current.blur();
    if (text !== value) take(wanted);
  };
  return html`<input id=${id} ref=${input} class=${short ? "short" : ""} inputmode=${mode} aria-label=${label}
    autocomplete="off" value=${editing ? undefined : value} onBlur=${leave}
    style=${`width:${Math.max(short ? 5 : 7, value.length)}ch`}
    onKeyDown=${(event) => {
      if (event.key === "Escape") input.current.blur();
      if (event.key === "Enter") enter();
    }} />`;
}

function Scrubber({session}) {
  const {model} = session;
  const {histogram} = session.live;
  const end = Math.max(histogram.to, session.live.head.at);
  const shown = session.playhead.aim.value?.at ?? (session.isWaiting ? null : model.at);
  return html`
    <div class="scrub">
      <${Bars} histogram=${histogram} shown=${shown} version=${session.tick.value} />
      <span class="base"></span>
      ${histogram.marks.map((mark) => html`<${EventMark} key=${mark.seq} mark=${mark} end=${end} />`)}
      ${ticks(end).map(
        ({at, part: left, last}, i) => html`<span key=${`${at}`} style=${`left:${(left * 100).toFixed(2)}%`}
        class=${`tick${last ? " last nowrap" : i % 2 === 1 ? " opt" : ""}${!last && left > NEAR_END ? " near" : ""}`}>${tickText(at, end)}</span>`,
      )}
      ${shown !== null && html`<span class="head" style=${`left:${(partOf(shown, end) * 100).toFixed(2)}%`}></span>`}
      <input type="range" min="0" max=${Math.max(1, Math.round(end / 1e6))} step="1" value=${Math.round((shown ?? 0) / 1e6)} disabled=${shown === null}
        aria-label=${gettext("Position in the run")}
        aria-valuetext=${valueText(session, shown)}
        onInput=${(event) => session.playhead.scrub(scrubbed(event.target, end))} />
    </div>`;
}

function valueText(session, shown) {
  if (shown === null) return gettext("not read yet");
  const time = moment(shown);
  // The event at a dragged position is not known yet.
  if (session.playhead.aim.value) return gettext("{time} seconds", {time});
  const {head} = session.live;
  return gettext("{time} seconds, event {seq} of {head}", {time, seq: session.model.seq, head: head.seq});
}

/** The time of a position; the right end is exactly the end of the run. */
function scrubbed(input, end) {
  return input.value === input.max ? end : Number(input.value) * 1e6;
}

/** How much happened when, as bars; those up to `shown` are past. Two shapes, because each of many would be laid out anew. */
export function Bars({histogram, shown}) {
  const bars = histogram.bars();
  const past = bars.filter(({start}) => shown !== null && start <= shown);
  return html`
    <svg class="hist" viewBox="0 0 600 20" preserveAspectRatio="none" aria-hidden="true">
      <path class="past" d=${past.map(barPath).join("")} /><path class="ahead" d=${bars.slice(past.length).map(barPath).join("")} />
    </svg>`;
}

function barPath({x, width, height}) {
  const [wide, high] = [Math.max(1, width * 600 * 0.8), Math.max(1, height * 20)];
  return `M${(x * 600).toFixed(1)} 20v${(-high).toFixed(1)}h${wide.toFixed(1)}v${high.toFixed(1)}z`;
}

function EventMark({mark, end}) {
  const {mark: shape, family} = markLook(mark.kind);
  return html`<span class=${`mark f-${family}`} style=${`left:${(partOf(mark.at, end) * 100).toFixed(2)}%`}
    title=${listText([`${timeText(mark.at)}  ${mark.kind}`, ...(mark.object ? [mark.object] : [])])}><${Icon} name=${shape} /></span>`;
}

/** How far back an event is; what has less room says only the time. */
function behindWords(time, behind, goesOn) {
  const words = {opt: (inner) => html`<span class="opt">${inner}</span>`, time};
  return goesOn
    ? ngettext(
        "{time} behind<opt>, {count} event before the newest. New events are still being recorded.</opt>",
        "{time} behind<opt>, {count} events before the newest. New events are still being recorded.</opt>",
        behind,
        words,
      )
    : ngettext(
        "{time} behind<opt>, {count} event before the newest</opt>",
        "{time} behind<opt>, {count} events before the newest</opt>",
        behind,
        words,
      );
}

/** Says that an older event is shown, and how far back it is. */
export function PastBanner({session}) {
  if (!session.playhead.past.value) return null;
  const {seq, at} = session.model;
  const {head} = session.live;
  const behind = head.seq - seq;
  const goesOn = session.run.value.status === "playing";
  return html`
    <div class="past-banner" role="status"><${Mark} name="backoff" family="clock" /><b>${gettext("Viewing the past")}</b>
      <span>${behindWords(timeText(head.at - at), behind, goesOn)}</span>
      <button class="btn" onClick=${() => session.playhead.jumpToNewest({isJump: true})}>${gettext("Jump to newest")} <kbd>End</kbd></button></div>`;
}
