import {html} from "../../lib/html.js";
import {gettext, labelled} from "../../lib/words.js";
import {factsOf} from "../../model/film/facts.js";
import {insideOf, stackOf} from "../../model/film/places.js";
import {PHASES, saysOf} from "../../model/film/words.js";
import {Icon} from "../shared/mark.js";

/** What the step says: a sentence, a number, the arithmetic, and the code that runs. */
export function FilmInspector({player, inside}) {
  const film = player.film.value;
  const step = player.step.value;
  const blocks = factsOf(film, step, player.picture.value);
  const [first] = blocks;
  const number = first?.kind === "figure" ? first : null;
  const stack = stackOf(film, step);
  return html`
    <aside class="fm-inspector" aria-label=${gettext("This step")} tabindex="0">
      <div class="fm-answer" aria-live=${player.playing.value ? "off" : "polite"}>
        <p class="eyebrow"><b>${PHASES[step.phase]}</b>${step.of > 1 && html`<span>${gettext("{n} of {of}", {n: step.n, of: step.of})}</span>`}<span class=${`time${step.isStill ? "" : " real"}`}>${step.isStill ? gettext("presentation time") : gettext("real time")}</span></p>
        <h2>${saysOf(film, step)}</h2>
        ${number && html`<${Figure} block=${number} />`}
      </div>
      <div class="fm-body">${blocks.filter((block) => block !== number).map((block, place) => html`<${Block} key=${place} block=${block} />`)}</div>
      <div class="fm-code"><h3>${gettext("Runs now {version}", {version: html`<span class="mute">${film.answer.version}</span>`})}</h3>
        <ol>${stack.map(({file, function: name}, place) => html`<li key=${place} class=${place === stack.length - 1 ? "lit" : ""} style=${`--in:${place}`} title=${labelled(file, `${name}()`)}><b>${name}()</b><span>${fileOf(file)}</span></li>`)}</ol></div>
      <p class="fm-does"><a class="btn" href=${inside} aria-keyshortcuts="i" title=${gettext("Inside, the same step (i)")}><${Icon} name="link" />${gettext("Inside: {title}", {title: insideOf(film, step).title})}</a>
        <span class="micro mute"><kbd>←</kbd> <kbd>→</kbd> ${gettext("step")} <kbd>Space</kbd> ${gettext("play")}</span></p>
    </aside>`;
}

function fileOf(path) {
  return path.slice(path.lastIndexOf("/") + 1);
}

function Block({block}) {
  const View = VIEWS[block.kind];
  return html`<${View} block=${block} />`;
}

function Figure({block: {number, text, family}}) {
  return html`<p class=${`fm-figure${family ? ` tinted f-${family}` : ""}`}><b>${number}</b><span>${text}</span></p>`;
}

function Terms({block: {rows}}) {
  return html`<dl class="fm-terms">${rows.map(({label, value, look}, place) => html`<div key=${place} class=${look}><dt>${label}</dt><dd>${value}</dd></div>`)}</dl>`;
}

const MARKS = {ok: ["ok", "settled"], keep: ["ok", "settled"], stop: ["no", "stuck"], skip: ["gated", "held"]};

function Answers({block: {title, rows}}) {
  return html`${title && html`<h3>${title}</h3>`}<ol class="fm-answers">${rows.map(({name, number, what, text}) => {
    const [mark, family] = MARKS[what] ?? [];
    return html`<li key=${name} class=${`is-${what}`}><span class=${`an${family ? ` tinted f-${family}` : ""}`}>${mark && html`<${Icon} name=${mark} />`}</span><span class="cut" title=${name}>${number && html`<b>${number}</b> `}${name}</span><span class="t">${text}</span></li>`;
  })}</ol>`;
}

function Formulas({block: {nodes}}) {
  return html`<div class="fm-formulas">${nodes.map(
    ({node, lines}) => html`
    <section key=${node} aria-label=${node}><h4 class="mono cut" title=${node}>${node}</h4>${lines.map(
      ([text, value], place) =>
        html`<div key=${place} class=${`f${place === lines.length - 1 ? " last" : ""}`}><span title=${text}>${text}</span><b>${value}</b></div>`,
    )}</section>`,
  )}</div>`;
}

function Totals({block: {nodes, rows, sums}}) {
  return html`<table class="fm-totals"><thead><tr><th scope="col">${gettext("Normalised × weight")}</th>${nodes.map((node) => html`<th key=${node} scope="col" class="cut" title=${node}>${node}</th>`)}</tr></thead>
    <tbody>${rows.map(({plugin, look, cells}) => html`<tr key=${plugin} class=${look}><th scope="row" class="cut" title=${plugin}>${plugin}</th>${cells.map((cell, place) => html`<td key=${place}>${cell && html`<small>${cell[0]}</small><b>${cell[1]}</b>`}</td>`)}</tr>`)}</tbody>
    <tfoot><tr><th scope="row">${gettext("Sum")}</th>${sums.map((sum, place) => html`<td key=${place}><b>${sum}</b></td>`)}</tr></tfoot></table>`;
}

function Writes({block: {rows}}) {
  return html`<ol class="fm-writes">${rows.map(
    ({name, field, by, at, look}, place) => html`
    <li key=${place} class=${look}><span class="n">${look ? html`<${Icon} name="ok" />` : place + 1}</span><span><span class="mono">${name}</span> ${field}<small>${by}</small></span><span class="num">${at}</span></li>`,
  )}</ol>`;
}

function Note({block: {text}}) {
  return html`<p class="fm-note">${text}</p>`;
}

const VIEWS = {
  writes: Writes,
  figure: Figure,
  terms: Terms,
  answers: Answers,
  formulas: Formulas,
  totals: Totals,
  note: Note,
};
