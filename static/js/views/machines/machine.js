import {html} from "../../lib/html.js";
import {gettext, labelled} from "../../lib/words.js";
import {highlightsOf, titleOf} from "../../model/machines/machines.js";
import {count, timeText} from "../../model/shared/format.js";
import {EventLink} from "../shared/events.js";

const FAMILIES = ["ready", "working", "clock", "promised", "settled", "stuck", "held"];
const BOX = {width: 128, height: 40};
/** Approximate widths of a letter of the title and of a digit of the count. */
const LETTER = 6.6;
const DIGIT = 8.6;

/** Arrow heads for all diagrams of a page. */
export function ArrowHeads() {
  const head = (id, size, fill) => html`
    <marker key=${id} id=${id} viewBox="0 0 8 8" refX="7" refY="4" markerWidth=${size} markerHeight=${size}
      markerUnits="userSpaceOnUse" orient="auto-start-reverse"><path d="M0 .6 8 4 0 7.4z" fill=${`var(--${fill})`} /></marker>`;
  return html`<svg class="sprite" aria-hidden="true"><defs>
    ${head("arrow-possible", 8, "line-strong")}${head("arrow-taken", 9, "ink-2")}
    ${FAMILIES.map((family) => head(`arrow-${family}`, 11, family))}</defs></svg>`;
}

/**
 * One state machine: the number of objects in each state, and the `moves` of the followed object, which is
 * in state `here`; `isEnding` is whether it is terminating. `onState` is called with the key of a state that is clicked.
 */
export function Diagram({machine, tally, exists, moves, here, isEnding, onState}) {
  const light = highlightsOf(machine, moves, here);
  // A terminating object is never drawn as settled.
  const unlessEnding = (family) => (isEnding && family === "settled" ? "stuck" : family);
  const familyOf = new Map(machine.states.map(({key, family}) => [key, family]));
  // Draw highlighted edges over the others, the last move on top.
  const rank = (edge) => (edge === light.last ? 2 : Number(light.taken.has(edge)));
  const edges = [...machine.edges].sort((a, b) => rank(a) - rank(b));
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label=${gettext("{title}, diagram", {title: machine.title})}>
      <svg class="dia" data-picture=${machine.title} viewBox="0 8 680 296" role="group" aria-label=${machine.title}>
        ${(machine.dots ?? []).map(([x, y]) => html`<circle key=${x} cx=${x} cy=${y} r="5" class="outside" />`)}
        ${edges.map(
          (edge) => html`<${Edge} key=${edge.path} edge=${edge} light=${light} exists=${exists}
          family=${unlessEnding(familyOf.get(moves.at(-1)?.to) ?? "held")} />`,
        )}
        ${machine.states.map(
          (
            state,
          ) => html`<${State} key=${state.key} state=${state} family=${light.here === state.key ? unlessEnding(state.family) : state.family} light=${light} exists=${exists}
          found=${state.passing ? null : tally.count(state.key)} onState=${onState} />`,
        )}
      </svg></div>`;
}

function Edge({edge, light, exists, family}) {
  const times = light.taken.get(edge) ?? 0;
  const isLast = edge === light.last;
  const look = isLast ? `last f-${family}` : times > 0 ? "path" : exists(edge) ? "" : "off";
  const head = isLast ? family : times > 0 ? "taken" : "possible";
  const [x, y, anchor, words] = edge.text ?? [];
  return html`
    ${edge.bridged && html`<path class="bridge" d=${edge.path} />`}
    <path class=${`e ${look}`} d=${edge.path} marker-end=${`url(#arrow-${head})`} />
    ${words && html`<text class=${look} x=${x} y=${y} text-anchor=${anchor}>${words}${times > 1 && html` <tspan class="times">×${times}</tspan>`}</text>`}`;
}

function State({state, family, light, exists, found, onState}) {
  const {
    key,
    title,
    mark,
    at: [x, y],
    width = BOX.width,
  } = state;
  const possible = exists(state);
  const look = light.here === key ? "here" : light.visited.has(key) ? "path" : possible ? "" : "off";
  const press = () => found && onState(key);
  const pressed = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    press();
  };
  // The number goes below the name if both do not fit on one line.
  const tall = found !== null && title.length * LETTER + count(found).length * DIGIT > width - 50;
  const words = found === null ? title : labelled(title, count(found));
  return html`
    <g class=${`s ${look} f-${family}`} tabindex=${found ? 0 : -1} role="button" aria-disabled=${String(!found)}
      aria-label=${found ? gettext("{words}. Follow the next object in this state", {words}) : words} onClick=${press} onKeyDown=${pressed}>
      <rect class="b" x=${x} y=${y} width=${width} height=${BOX.height} rx="4" />
      <use href=${`#${mark}`} x=${x + 12} y=${y + 14} width="12" height="12" />
      <text x=${x + 31} y=${y + (tall ? 16 : 24)}>${title}</text>${" "}
      ${found !== null && html`<text class=${`n${found === 0 ? " zero" : ""}`} x=${x + width - 12} y=${y + (tall ? 34 : 25)}>${count(found)}</text>`}
      ${found > 0 && html`<title>${gettext("Follow the next object in this state")}</title>`}
    </g>`;
}

/** What the last move was: "30.398 s  In flight → Unschedulable  PodParked ScheduleAttemptFailure"; else `none`. */
export function LastMove({session, machine, move, none}) {
  if (!move) return html`<p class="trail" title=${none}>${none}</p>`;
  return html`
    <p class="trail"><${EventLink} session=${session} seq=${move.seq}>${timeText(move.at)}<//>${titleOf(machine, move.from)}<span class="sep">→</span>
      <b>${titleOf(machine, move.to)}</b><span class="cut mute" title=${`${move.kind} ${move.message}`}>${move.kind} ${move.message}</span></p>`;
}
