import {html} from "../../lib/html.js";
import {gettext, labelled, listText, ngettext} from "../../lib/words.js";
import {cellsOf} from "../../model/film/strips.js";
import {zoneLabel, zoneTitle} from "../../model/nodes/nodes.js";
import {count} from "../../model/shared/format.js";
import {CellStrip} from "../shared/cell_strip.js";
import {Card} from "./film_nodes.js";

const CELL = 9;

/** A zone is a strip of one cell for each node; the chosen node has its card beside them. */
export function FilmStrips({player}) {
  const {nodes} = player.model;
  const cells = cellsOf(player.film.value, player.picture.value, player.only.value);
  const {chosen} = player.picture.value.far;
  return html`
    <div class="fm-strips" data-picture=${gettext("Nodes")} tabindex="0" role="region" aria-label=${gettext("Nodes")}>${nodes
      .zones()
      .map(
        ({zone, names}) => html`
      <section key=${zone} aria-label=${zoneLabel(zone)}><h3>${zoneTitle(zone)}<small>${count(names.length)}</small></h3>
        <${Strip} zone=${zone} names=${names} cells=${cells} />
        ${chosen !== undefined && names.includes(chosen) && html`<${Card} player=${player} name=${chosen} />`}</section>`,
      )}</div>`;
}

function Strip({zone, names, cells}) {
  const shown = names.map((name) => {
    const {cell, ring} = cells.get(name) ?? {cell: ".", ring: false};
    return {fill: FILL_STYLES[cell], ring: ring ? "var(--ink)" : null, title: name};
  });
  const fits = names.filter((name) => cells.get(name)?.cell === "f").length;
  const label = labelled(
    zoneTitle(zone),
    listText([ngettext("{count} node", "{count} nodes", names.length), gettext("{fits} fit", {fits})]),
  );
  return html`<${CellStrip} cells=${shown} size=${CELL} label=${label} />`;
}

const FILL_STYLES = {
  f: "var(--settled)",
  x: "color-mix(in srgb, var(--stuck) 62%, var(--surface))",
  n: "var(--working)",
  a: "var(--promised)",
  "-": "color-mix(in srgb, var(--ink) 16%, var(--surface))",
  ".": "color-mix(in srgb, var(--ink) 10%, var(--surface))",
};
