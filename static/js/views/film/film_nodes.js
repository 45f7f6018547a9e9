import {useEffect, useLayoutEffect, useRef} from "preact/hooks";

import {html} from "../../lib/html.js";
import {gettext, listText, ngettext} from "../../lib/words.js";
import {beatMs} from "../../model/film/clock.js";
import {IDLE} from "../../model/film/picture.js";
import {podHealth} from "../../model/health/pod.js";
import {hint, meters, wants, zoneLabel, zoneTitle} from "../../model/nodes/nodes.js";
import {count, parseId, ratio} from "../../model/shared/format.js";
import {Icon, Mark} from "../shared/mark.js";
import {FilmStrips} from "./film_strips.js";

const COLUMNS = 4;
const LONGEST_MOVE_MS = 600;
const LONGEST_BEAT_MS = 1600;
const TILES = 40;

/** The nodes of the board, with what the step says of each. */
export function FilmNodes({player}) {
  const film = player.film.value;
  const {nodes} = player.model;
  useFlip(player);
  return html`
    <div class="fm-gridhead"><h2>${ngettext("{count} node", "{count} nodes", nodes.size)}</h2><${Legend} player=${player} /></div>
    ${film.isLarge ? html`<${FilmStrips} player=${player} />` : html`<${Cards} player=${player} />`}`;
}

/** The tile of the pod moves from where it was. */
function useFlip(player) {
  /** @type {{current: DOMRect | null}} */
  const before = useRef(null);
  const place = player.place.value;
  useLayoutEffect(() => {
    const tile = document.querySelector("[data-flip]");
    const to = tile?.getBoundingClientRect() ?? null;
    const from = before.current;
    before.current = to;
    if (!tile || !from || !to || player.by.value !== 1 || player.calm.value) return;
    const [x, y] = [from.x - to.x, from.y - to.y];
    if (Math.hypot(x, y) < 4) return;
    tile.animate(
      [
        {transform: `translate(${x}px, ${y}px)`, zIndex: 9},
        {transform: "none", zIndex: 9},
      ],
      {
        duration: Math.min(LONGEST_MOVE_MS, beatMs(player.speed.value)),
        easing: "cubic-bezier(.2, 0, 0, 1)",
      },
    );
  }, [place]);
}

const MARKS = [
  ["bound", "settled", gettext("bound")],
  ["assumed", "promised", gettext("assumed")],
  ["nominated", "promised", gettext("nominated")],
  ["victim", "stuck", gettext("victim")],
];
const CELLS = [
  ["c-fit", gettext("fits")],
  ["c-out", gettext("refused")],
  ["c-now", gettext("this step")],
  ["c-not", gettext("not looked at")],
  ["c-as", gettext("assumed")],
];

/** What the marks of the nodes mean at this step. */
function Legend({player}) {
  const {shows} = player.picture.value;
  const {answer, isLarge} = player.film.value;
  if (isLarge)
    return html`<p class="fm-legend">${CELLS.map(([look, words]) => html`<span key=${look}><i class=${`sq ${look}`}></i>${words}</span>`)}</p>`;
  if (shows === "filter") {
    const {asked} = answer.filter.searches[player.picture.value.front.search];
    return html`<ol class="fm-filters" aria-label=${gettext("Filters with work")}>${asked.map((plugin, place) => html`<li key=${plugin} title=${plugin}><b>${place + 1}</b>${plugin}</li>`)}</ol>`;
  }
  if (shows === "sum")
    return html`<p class="fm-legend">${answer.score.plugins.map(({plugin}, place) => html`<span key=${plugin}><i class=${shade(place)}></i>${plugin}</span>`)}</p>`;
  return html`<p class="fm-legend">${MARKS.map(([name, family, words]) => html`<span key=${words}><${Mark} name=${name} family=${family} />${words}</span>`)}</p>`;
}

/** Neighbouring parts differ in shade. */
function shade(place) {
  return `p${place % 4}`;
}

function Cards({player}) {
  const {nodes} = player.model;
  const zones = nodes.zones();
  const columns = Math.min(COLUMNS, Math.max(2, ...zones.map(({names}) => names.length)));
  const step = player.step.value;
  /** @type {{current: any}} */
  const box = useRef(null);
  useEffect(() => {
    keepInSight(box.current);
  }, [step.id]);
  return html`
    <div class="fm-zones" data-picture=${gettext("Nodes")} ref=${box} tabindex="0" role="region" aria-label=${gettext("Nodes")} style=${`--columns:${columns}`}>${zones.map(
      ({zone, names}) => html`
      <section class="fm-zone" key=${zone} aria-label=${zoneLabel(zone)}><h3 style=${`grid-row:span ${Math.ceil(names.length / columns)}`}>${zoneTitle(zone)}</h3>
        ${names.map((name) => html`<${Card} key=${name} player=${player} name=${name} shown=${player.picture.value.nodes[name]} />`)}</section>`,
    )}</div>`;
}

/** Scroll the node that the step is about into the box, without moving the page. */
function keepInSight(box) {
  const card = box?.querySelector(".is-lit, .is-promised, .is-settled, .is-won");
  if (!card || box.scrollHeight <= box.clientHeight) return;
  const [outer, inner] = [box.getBoundingClientRect(), card.getBoundingClientRect()];
  if (inner.bottom > outer.bottom) box.scrollTop += inner.bottom - outer.bottom;
  if (inner.top < outer.top) box.scrollTop -= outer.top - inner.top;
}

export function Card({player, name, shown = IDLE}) {
  const {model} = player;
  const node = model.entities.get(`node/${name}`);
  const pod = model.entities.get(`pod/${player.film.value.answer.pod}`);
  const isEntering = player.by.value === 1 && shown.look === "lit" && !player.calm.value;
  const beat = Math.min(LONGEST_BEAT_MS, beatMs(player.speed.value));
  return html`
    <article class=${`fm-node is-${shown.look || "idle"}${isEntering ? " enter" : ""}`} style=${`--beat:${beat}ms`} aria-label=${listText([gettext("Node {name}", {name}), ...(shown.why ? [shown.why] : [])])}>
      <header><b class="cut" title=${name}>${model.nodes.label(name)}</b><span class="hint" title=${node ? hint(node, model.at) : ""}>${node ? hint(node, model.at) : gettext("deleted")}</span>
        ${shown.order !== null && html`<span class=${`ord${shown.order === 0 ? " first" : ""}`} title=${gettext("number {order} in the search", {order: shown.order})}>${shown.order}</span>`}</header>
      <div class="mts">${meters(node ?? {}, shown.asks ? wants(pod) : null)
        .slice(0, 2)
        .map((row) => html`<${Meter} key=${row.resource} row=${row} />`)}</div>
      <${Tiles} player=${player} name=${name} victims=${shown.victims} />
      <${Below} player=${player} shown=${shown} />
    </article>`;
}

function Meter({row}) {
  const percent = (part) => `${(part * 100).toFixed(1)}%`;
  return html`<span>${row.label}</span><span class="mt"><i class="used" style=${`width:${percent(row.settled)}`}></i>
    ${row.assumed > 0 && html`<i class="as" style=${`width:${percent(row.assumed)}`}></i>`}
    ${row.want > 0 && html`<i class="asks" style=${`left:${percent(row.wantFrom)};width:${percent(row.want)}`}></i>`}
    ${row.short > 0 && html`<i class="short"></i>`}</span><span class="v num">${ratio(row.resource, row.requested, row.whole)}</span>`;
}

function Tiles({player, name, victims}) {
  const {model} = player;
  const own = `pod/${player.film.value.answer.pod}`;
  const tiles = model.nodes.tiles(name);
  const drawn = tiles.slice(Math.max(0, tiles.length - TILES));
  return html`<div class="tls">${tiles.length > drawn.length && html`<span class="micro mute">+${tiles.length - drawn.length}</span>`}${drawn.map(
    ({id, pod}) =>
      html`<${Tile} key=${id} model=${model} id=${id} pod=${pod} isOwn=${id === own} isVictim=${victims.includes(parseId(id).key)} />`,
  )}</div>`;
}

function Tile({model, id, pod, isOwn, isVictim}) {
  const health = podHealth(id, pod, model);
  const [mark, family] = isVictim
    ? ["victim", pod.deleting === undefined ? "stuck" : "held"]
    : [health.mark, health.family];
  const {key, name} = parseId(id);
  const place = pod.node ? "" : pod.assumed ? "assumed" : "nominated";
  return html`<span class=${`tl f-${family}${isOwn ? ` own ${place}` : ""}`} title=${listText([key, isVictim ? gettext("would have to go") : health.words])} data-flip=${isOwn ? "" : undefined}><${Icon} name=${mark} />${isOwn && name}</span>`;
}

/** Below the tiles: scores, or marks of filters and the reason. */
function Below({player, shown}) {
  if (shown.sum) return html`<${Sum} sum=${shown.sum} />`;
  if (shown.raw) return html`<${Raw} raw=${shown.raw} />`;
  const {shows, front} = player.picture.value;
  const asked = shows === "filter" ? player.film.value.answer.filter.searches[front.search].asked : [];
  const marks = shown.marks ?? asked.map(() => "wait");
  return html`
    ${shows === "filter" && html`<div class="pips" aria-hidden="true">${marks.map((mark, place) => html`<span key=${place} class=${`pip ${mark}`} style=${`--i:${place}`}>${mark === "ok" ? html`<${Icon} name="ok" />` : mark === "stop" ? html`<${Icon} name="no" />` : ""}</span>`)}</div>`}
    ${shown.why ? html`<p class="why" title=${shown.full}><${WhyMark} shown=${shown} hasLadder=${player.picture.value.ladder !== null} /><span>${shown.why}</span></p>` : shows === "filter" ? html`<p class="why"><span> </span></p>` : shown.look === "copied" && html`<p class="why"><${Mark} name="in-flight" family="working" /><span>${gettext("copied")}</span></p>`}`;
}

function WhyMark({shown, hasLadder}) {
  if (shown.victims.length > 0 || (hasLadder && shown.fits))
    return html`<${Mark} name="victim" family=${shown.look === "gone" ? "held" : "stuck"} />`;
  return shown.fits ? html`<${Mark} name="ok" family="settled" />` : html`<${Mark} name="no" family="stuck" />`;
}

function Sum({sum: {parts, total, most}}) {
  const share = (part) => `${((Math.max(0, part) / most) * 100).toFixed(2)}%`;
  return html`<div class="sc"><span class="bar" aria-hidden="true">${parts.map((part, place) => html`<i key=${place} class=${`${shade(place)}${place === parts.length - 1 ? " new" : ""}`} style=${`width:${share(part)}`}></i>`)}</span>
    <p><span class="mute num">${parts.length > 1 ? `+ ${count(parts[parts.length - 1])} =` : ""}</span><b class="num">${count(total)}</b></p></div>`;
}

function Raw({raw: {label, value, most, before}}) {
  return html`<div class="sc"><span class="bar raw" aria-hidden="true"><i class="p1" style=${`width:${((Math.max(0, value) / most) * 100).toFixed(1)}%`}></i></span>
    <p><span class="cutname" title=${label}>${label}</span>${before !== null && html`<s class="num">${count(before)}</s><span>→</span>`}<b class="num">${count(value)}</b></p></div>`;
}
