import {useState} from "preact/hooks";

import {html} from "../../lib/html.js";
import {gettext, listText, ngettext} from "../../lib/words.js";
import {podHealth} from "../../model/health/pod.js";
import {deviceCounts} from "../../model/nodes/node_devices.js";
import {CARDS, placeOf, zoneLabel, zoneTitle} from "../../model/nodes/nodes.js";
import {evidenceWords} from "../../model/pods/evidence.js";
import {closestFirst} from "../../model/pods/verdict.js";
import {parseId} from "../../model/shared/format.js";
import {Mark} from "../shared/mark.js";
import {sinceWords} from "../../model/pods/evidence.js";
import {NodeCard, drawnTiles} from "./node_card.js";
import {Strips} from "./node_strips.js";

const COLUMNS = 4;

/** Nodes by zone: cards up to sixty nodes, strips of small cells above. */
export function NodeGrid({session}) {
  const {nodes} = session.model;
  const asked = askedOf(session);
  const note = verdictNote(asked, session.model);
  return html`
    <div class="gridhead"><h2>${ngettext("{count} node", "{count} nodes", nodes.size)}</h2>
      <span class="micro mute cut" title=${note}>${note}</span>
      ${nodes.size > CARDS ? html`<${StripLegend} asked=${asked} />` : html`<${Legend} session=${session} />`}</div>
    ${
      nodes.size > CARDS
        ? html`<${Strips} session=${session} asked=${asked} />`
        : html`<${Cards} session=${session} asked=${asked} />`
    }`;
}

/** The selected pod, whose verdicts the grid shows: its evidence, its node and the closest node. */
function askedOf(session) {
  const id = session.selected();
  const pod = id ? session.model.entities.get(id) : null;
  if (!pod) return {id: null, pod: null, evidence: null, reading: null, target: null, closest: null};
  const reading = session.evidence.of(id);
  const {evidence} = reading;
  const [nearest, verdict] = closestFirst(evidence)[0] ?? [];
  const closest = pod.node || pod.assumed || typeof verdict?.short !== "number" ? null : nearest;
  return {id, pod, evidence, reading, target: placeOf(pod), closest};
}

function verdictNote({id, reading}, model) {
  if (!id || !reading) return gettext("no pod selected");
  const words = evidenceWords(reading, parseId(id).name);
  const stale = reading.evidence && sinceWords(reading.evidence, model);
  return stale ? listText([words, stale]) : words;
}

const LEGEND = {
  bound: ["bound", "settled", gettext("bound")],
  assumed: ["assumed", "promised", gettext("assumed")],
  nominated: ["nominated", "promised", gettext("nominated")],
  starting: ["in-flight", "working", gettext("starting")],
  failing: ["backoff", "stuck", gettext("failing")],
  stuck: ["no", "stuck", gettext("stuck")],
  terminating: ["victim", "stuck", gettext("terminating")],
};

/** The marks of tiles: the first three always, the others while a pod is so. */
function Legend({session}) {
  const shown = new Set(["bound", "assumed", "nominated"]);
  for (const pods of session.model.nodes.pods.values())
    for (const [id, pod] of pods) shown.add(podHealth(id, pod, session.model).place);
  const looks = Object.entries(LEGEND).filter(([key]) => shown.has(key));
  return html`
    <ul class="legend">${looks.map(
      ([key, [mark, family, words]]) => html`<li key=${key}><${Mark} name=${mark} family=${family} />${words}</li>`,
    )}</ul>`;
}

function StripLegend({asked}) {
  if (!asked.evidence)
    return html`<ul class="legend"><li><i class="cellkey fill"></i>${gettext("requested / allocatable")}</li></ul>`;
  return html`
    <ul class="legend"><li><i class="cellkey fits"></i>${gettext("fits")}</li><li><i class="cellkey chosen"></i>${gettext("chosen")}</li>
      <li><i class="cellkey unfit"></i>${gettext("does not fit")}</li><li><i class="cellkey skipped"></i>${gettext("not evaluated")}</li></ul>`;
}

function Cards({session, asked}) {
  const {nodes, entities} = session.model;
  const zones = nodes.zones();
  const widest = Math.max(1, ...zones.map(({names}) => names.length));
  const columns = Math.min(COLUMNS, Math.max(2, widest));
  const [last, setLast] = useState(/** @type {string | null} */ (null));
  const stop = tabStop(session, [last, asked.id]);
  const counts = deviceCounts(entities);
  const stale = Boolean(asked.evidence && sinceWords(asked.evidence, session.model));
  return html`
    <div class="zones" data-picture="Nodes" style=${`--columns:${columns}`} onKeyDown=${moveAlong} onFocusIn=${({target}) => target.dataset.pod && setLast(target.dataset.pod)}>
      ${zones.map(
        ({zone, names}) => html`
        <section class="zone" key=${zone} aria-label=${zoneLabel(zone)}>
          <h3 style=${`--rows:${Math.ceil(names.length / columns)};--rows-narrow:${Math.ceil(names.length / 2)}`}>${zoneTitle(zone)}</h3>
          ${names.map(
            (name) => html`<${NodeCard} key=${name} session=${session} name=${name} asked=${asked}
            node=${entities.get(`node/${name}`)} version=${nodes.version(name)} model=${session.model} stale=${stale} ...${counts.get(name) ?? {}}
            drivers=${entities.get(`csinode/${name}`)?.drivers} stop=${stopOn(stop, name)} />`,
          )}
        </section>`,
      )}
    </div>`;
}

/** The tile that the Tab key reaches, {id, node}: the first of the *wished* pods that has one, else the first tile. */
function tabStop({model: {nodes, entities}}, wished) {
  for (const id of wished) {
    const node = id && entities.has(id) ? placeOf(entities.get(id)) : null;
    if (node && drawnTiles(nodes, node).drawn.some((tile) => tile.id === id)) return {id, node};
  }
  for (const node of nodes.zones().flatMap(({names}) => names)) {
    const [tile] = drawnTiles(nodes, node).drawn;
    if (tile) return {id: tile.id, node};
  }
  return null;
}

function stopOn(stop, name) {
  return stop?.node === name ? stop.id : null;
}

/** Arrow keys go from tile to tile: left and right in order, up and down to the nearest of another row. */
function moveAlong(event) {
  const {target, currentTarget, key} = event;
  if (!target.matches?.("button.tile")) return;
  const tiles = [...currentTarget.querySelectorAll("button.tile")];
  const at = tiles.indexOf(target);
  const next = {
    ArrowLeft: () => tiles[at - 1],
    ArrowRight: () => tiles[at + 1],
    ArrowUp: () => nearestTile(target, tiles.slice(0, at).reverse(), -1),
    ArrowDown: () => nearestTile(target, tiles, 1),
  }[key]?.();
  if (key.startsWith("Arrow")) event.preventDefault();
  next?.focus();
}

/** The tile whose middle is nearest, of those in the direction of *way* (1 is down). */
function nearestTile(from, tiles, way) {
  const middle = (tile) => {
    const {left, right, top, bottom} = tile.getBoundingClientRect();
    return {x: (left + right) / 2, y: (top + bottom) / 2};
  };
  const {x, y} = middle(from);
  const ahead = tiles.map((tile) => ({tile, ...middle(tile)})).filter((each) => (each.y - y) * way > 4);
  const far = (each) => Math.abs(each.y - y) * 4 + Math.abs(each.x - x);
  return ahead.sort((a, b) => far(a) - far(b))[0]?.tile;
}
