import {useEffect} from "preact/hooks";

import {html} from "../../lib/html.js";
import {optional} from "../../lib/dom.js";
import {gettext, labelled, listText} from "../../lib/words.js";
import {SPEEDS, gapNs, isShortened, screenSeconds} from "../../model/film/clock.js";
import {PHASES, saysOf} from "../../model/film/words.js";
import {count, duration, parseId, timeText} from "../../model/shared/format.js";
import {Icon, Name} from "../shared/mark.js";

/** The film's own bar: keys, clock, speed, and the strip of its steps. */
export function FilmBar({player, copied, onCopy}) {
  const film = player.film.value;
  const {calm} = player;
  return html`
    <section class=${`fm-bar${calm.value ? " calm" : ""}`} aria-label=${gettext("Slow motion")}>
      <div class="fm-controls">
        <${Title} film=${film} />
        <${Keys} player=${player} film=${film} />
        ${film && html`<${Clock} player=${player} film=${film} />`}
        ${
          calm.value
            ? html`<span class="small mute fm-calm">${gettext("reduced motion: steps only")}</span>`
            : html`<div class="seg fm-speed" role="group" aria-label=${gettext("Speed of the film")}>${SPEEDS.map(
                (speed, place) =>
                  html`<button key=${speed} type="button" aria-keyshortcuts=${String(place + 1)} aria-pressed=${String(player.speed.value === speed)} onClick=${() => player.setSpeed(speed)}>${speed}×</button>`,
              )}</div>`
        }
        ${film && html`<${Progress} player=${player} film=${film} />`}
        <button class="btn fm-copy" type="button" aria-keyshortcuts="c" onClick=${onCopy}><${Icon} name="link" /><span role="status">${copied.value || gettext("Copy link")}</span></button>
      </div>
      ${film ? html`<${Strip} player=${player} film=${film} />` : html`<${GreyStrip} />`}
    </section>`;
}

function Title({film}) {
  if (!film) return html`<div class="fm-title"><h1>${gettext("Slow motion")}</h1></div>`;
  const isClaim = film.kind === "claim";
  const {namespace, name} = parseId(isClaim ? film.answer.entity : `pod/${film.answer.pod}`);
  return html`<div class="fm-title"><h1>${isClaim ? gettext("Slow motion of a claim") : gettext("Slow motion of cycle {cycle}", {cycle: count(film.answer.cycle)})}</h1>
    <span class="what"><${Name} namespace=${namespace} name=${name} /></span></div>`;
}

function Keys({player, film}) {
  const [playing, calm] = [player.playing.value, player.calm.value];
  const place = player.place.value;
  const last = (film?.steps.length ?? 1) - 1;
  const isFirst = !film || place === 0;
  const isLast = !film || place === last;
  return html`
    <div class="fm-keys" role="group" aria-label=${gettext("Film")}>
      <${Key} label=${gettext("Phase before")} hint="Shift ←" disabled=${isFirst} act=${() => player.movePhase(-1)}><${Icon} name="back" /><//>
      <${Key} label=${gettext("Step before")} hint="←" disabled=${isFirst} act=${() => player.move(-1)}><span aria-hidden="true">‹</span><//>
      ${!calm && html`<${Key} label=${playing < 0 ? gettext("Pause") : gettext("Play backwards")} hint="b" disabled=${isFirst} act=${() => player.play(-1)}>${playing < 0 ? html`<${Icon} name="pause" />` : html`<span class="flip" aria-hidden="true"><${Icon} name="play" /></span>`}<//>`}
      ${!calm && html`<${Key} label=${playing > 0 ? gettext("Pause") : gettext("Play")} hint="Space" look="primary" disabled=${!film} act=${() => player.play(1)}><${Icon} name=${playing > 0 ? "pause" : "play"} /><//>`}
      <${Key} label=${gettext("Next step")} hint=${calm ? gettext("→ or Space") : "→"} look=${calm ? "primary" : ""} disabled=${isLast} act=${() => player.move(1)}><span aria-hidden="true">›</span><//>
      <${Key} label=${gettext("Next phase")} hint="Shift →" disabled=${isLast} act=${() => player.movePhase(1)}><${Icon} name="step" /><//>
    </div>`;
}

function Key({label, hint, look = "", disabled, act, children}) {
  return html`<button class=${`btn icon ${look}`} type="button" aria-label=${label} title=${`${label} (${hint})`} disabled=${disabled} onClick=${act}>${children}</button>`;
}

function Clock({player, film}) {
  const place = player.place.value;
  const step = film.steps[place];
  const words = clockWords(film, place, {playing: player.playing.value, speed: player.speed.value});
  return html`<div class=${`fm-clock${step.isStill ? "" : " runs"}`}><b class="num">${timeText(player.clock.value)}</b><span>${words}</span></div>`;
}

function clockWords(film, place, {playing, speed}) {
  if (film.steps[place].isStill) return gettext("clock stands");
  if (!playing) return gettext("real time");
  if (gapNs(film, place) === 0) return gettext("one instant, clock stands");
  return isShortened(film, place, speed)
    ? gettext("clock runs, wait shortened")
    : gettext("clock runs, {speed}×", {speed});
}

function Progress({player, film}) {
  const {past, whole} = screenSeconds(film, player.place.value, player.speed.value);
  return html`<span class="fm-progress num small mute">${gettext("step {number} of {all}", {number: player.place.value + 1, all: film.steps.length})}${player.calm.value ? "" : html` · ${gettext("{past} of {whole} s", {past, whole})}`}</span>`;
}

/** A band for each kind of time, a phase for each extension point, a cell for each step. The arrow keys go through it. */
function Strip({player, film}) {
  const place = player.place.value;
  useEffect(() => {
    optional(".fm-phase.now")?.scrollIntoView({block: "nearest", inline: "nearest"});
  }, [film.steps[place].phase]);
  return html`
    <div class="fm-strip" role="group" aria-label=${gettext("Phases")}>${film.bands.map(
      (band) => html`
      <div key=${band.title} class=${`fm-band${band.isReal ? " real" : ""}`} style=${`flex-grow:${sizeOf(band)}`}>
        <p><b>${band.title}</b><span>${bandWords(band)}</span></p>
        <div class="fm-phases">${band.phases.map(
          ({phase, steps}) =>
            html`<${Phase} key=${phase} player=${player} film=${film} phase=${phase} steps=${steps} />`,
        )}</div></div>`,
    )}</div>`;
}

function sizeOf({phases}) {
  return phases.reduce((sum, {steps}) => sum + Math.max(0.6, steps.length), 0);
}

function bandWords({isReal, phases}) {
  if (!isReal) return gettext("presentation time: one instant, the clock stands");
  const steps = phases.flatMap((phase) => phase.steps);
  return gettext("real time, {length}", {length: duration(steps[steps.length - 1].at - steps[0].at)});
}

/** Why a phase has no step. */
function hatchWords(phase, film) {
  const {answer, steps} = film;
  if (!film.isOver && phase !== "postfilter") return gettext("ahead of the play head");
  if (phase === "score" && answer.host) return gettext("one node fits, nothing to compare");
  if (phase === "postfilter" && answer.host) return gettext("not reached: a node passed Filter");
  if (phase === "filter" && steps.length > 0)
    return gettext("not reached: the pod was refused before a node was looked at");
  return gettext("not reached");
}

function Phase({player, film, phase, steps}) {
  const place = player.place.value;
  if (steps.length === 0) {
    const why = hatchWords(phase, film);
    return html`<div class="fm-phase off" title=${labelled(PHASES[phase], why)}><span class="nm"><span aria-hidden="true">${PHASES[phase]}</span><span class="vh">${listText([PHASES[phase], why])}</span></span><span class="cells"><i class="none"></i></span></div>`;
  }
  const isNow = steps.includes(film.steps[place]);
  return html`
    <div class=${`fm-phase${isNow ? " now" : ""}`} style=${`flex-grow:${steps.length}`}>
      <button class="nm" type="button" tabindex=${isNow ? 0 : -1} aria-current=${isNow ? "step" : undefined} onClick=${() => player.go(steps[0].place)}>${PHASES[phase]}</button>
      <span class="cells" aria-hidden="true">${steps.map((step) => html`<${Cell} key=${step.id} player=${player} film=${film} step=${step} now=${place} />`)}</span></div>`;
}

function Cell({player, film, step, now}) {
  const isNow = step.place === now;
  const look = step.place < now ? "past" : isNow ? "now" : "";
  const looks = [look, isShortened(film, step.place, player.speed.value) && "cut"];
  const part = isNow ? `--part:${player.part.value.toFixed(3)}` : undefined;
  return html`<i class=${looks.filter(Boolean).join(" ")} style=${part} title=${labelled(step.id, saysOf(film, step))} onClick=${() => player.go(step.place)}></i>`;
}

const GREY = ["pop", "snapshot", "order", "prefilter", "filter", "postfilter", "score", "host", "assume", "bind"];

/** The phases in grey, while the film is read. */
function GreyStrip() {
  return html`<div class="fm-strip" aria-hidden="true"><div class="fm-band"><p><b>${gettext("scheduling cycle")}</b></p>
    <div class="fm-phases">${GREY.map((phase) => html`<div key=${phase} class="fm-phase off"><span class="nm">${PHASES[phase]}</span><span class="cells"><i></i></span></div>`)}</div></div></div>`;
}
