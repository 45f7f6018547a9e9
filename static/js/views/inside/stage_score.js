import {html} from "../../lib/html.js";
import {gettext, listText, ngettext} from "../../lib/words.js";
import {barsOf, linesOf, scoresOf} from "../../model/inside/cycle_score.js";
import {count} from "../../model/shared/format.js";
import {broken} from "../pods/matrix.js";
import {supposedCycle} from "../../model/inside/what_if.js";
import {Note} from "./stage_parts.js";
import {WhatIf} from "./what_if.js";

/** Shades of ink, in percent: "much" is not a state. */
const SHADES = [72, 40, 56, 28, 64, 34, 48];

/** Bars, then the arithmetic of each plugin on each node. */
export function ScoreStage({session, cycle, answer}) {
  const {whatIf} = cycle;
  const isOther = whatIf.amount.value !== null && whatIf.held.value?.key === `${answer.cycle} ${answer.pod}`;
  const shown = isOther ? supposedCycle(whatIf.supposed.value) : answer;
  return html`
    <div class=${isOther ? "supposed" : ""}>${
      shown.score?.is_compared
        ? html`<${Compared} answer=${shown} />`
        : html`<div class="notreached"><p>${isOther ? gettext("Nothing would be scored.") : gettext("Only one node fits, so there is nothing to compare.")}</p></div>`
    }</div>
    <${WhatIf} session=${session} whatIf=${whatIf} answer=${answer} />`;
}

function Compared({answer}) {
  const scores = scoresOf(answer);
  const bars = barsOf(scores);
  return html`
    <${Totals} scores=${scores} bars=${bars} />
    <${Formulas} scores=${scores} answer=${answer} />
    ${scores.others > 0 && html`<p class="micro mute after">${ngettext("and {count} more node with lower or equal scores", "and {count} more nodes with lower or equal scores", scores.others)}</p>`}
    <${Note}>${gettext("Each division drops its remainder, as Go does with integers.")}<//>`;
}

function shadeOf(differing, plugin) {
  const place = differing.findIndex((each) => each.plugin === plugin);
  if (place < 0) return "background:var(--meter-allocatable)";
  const style = `background:color-mix(in srgb, var(--ink) ${SHADES[place % SHADES.length]}%, var(--surface))`;
  return style;
}

function Totals({scores: {nodes, plugins, same}, bars: {differing, rows, isCut}}) {
  const equal = plugins.filter(({isSame, place}) => isSame && nodes[0].scores[place].weighted !== 0);
  return html`
    <ul class="totals">${nodes.map(
      ({node, total, isBest}, place) => html`
      <li key=${node} class=${isBest ? "best" : ""}><b class="mono cut" title=${node}>${node}</b>
        <span class="stackbar" aria-hidden="true">${rows[place].map(({plugin, share}) => html`<i key=${plugin} style=${`width:${(share * 100).toFixed(2)}%;${shadeOf(differing, plugin)}`}></i>`)}</span>
        <b class="num">${count(total)}</b></li>`,
    )}</ul>
    <p class="legendline micro">${equal.length > 0 && html`<span><i style=${shadeOf(differing, "")}></i>${equalWords(listText(equal.map(({plugin}) => plugin)), count(same), isCut)}</span>`}
      ${differing.map(({plugin}) => html`<span key=${plugin}><i style=${shadeOf(differing, plugin)}></i>${plugin}</span>`)}</p>`;
}

function equalWords(plugins, same, isCut) {
  return isCut
    ? gettext("{plugins}: {same} for all, decides nothing (not to scale)", {plugins, same})
    : gettext("{plugins}: {same} for all, decides nothing", {plugins, same});
}

function Formulas({scores: {nodes, plugins}, answer: {score}}) {
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label=${gettext("Arithmetic of the scores")}><table class="tbl formulas" style=${`min-width:${140 + nodes.length * 190}px`}>
      <thead><tr><th scope="col">${gettext("Plugin")}</th>${nodes.map(({node, isBest}) => html`<th key=${node} scope="col" class=${`cut${isBest ? " best" : ""}`} title=${node}>${node}</th>`)}</tr></thead>
      <tbody>${plugins.map(
        (plugin) => html`
        <tr key=${plugin.plugin}><th scope="row">${broken(plugin.plugin)}<small>${gettext("weight {weight}", {weight: plugin.weight})}</small>${plugin.normalizes && html`<small>${plugin.normalizes}</small>`}
          ${plugin.normalizes && html`<small>${gettext("raw from {lowest} to {highest}", {lowest: count(plugin.lowest), highest: count(plugin.highest)})}</small>`}</th>
          ${nodes.map(({node, scores}) => html`<td key=${node}>${linesOf(scores[plugin.place], plugin).map(([text, value], line) => html`<${Line} key=${line} text=${text} value=${value} />`)}</td>`)}</tr>`,
      )}
        ${score.not_scored.length > 0 && html`<tr class="mute"><th scope="row">${gettext("Not scored")}</th><td colspan=${nodes.length}>${gettext("{not_scored}: PreScore said Skip", {not_scored: listText(score.not_scored)})}</td></tr>`}</tbody>
      <tfoot><tr><th scope="row">${gettext("Total")}</th>${nodes.map(({node, total, isBest, scores}) => html`<td key=${node} class=${isBest ? "best" : ""}><${Line} text=${scores.map(({weighted}) => weighted).join(" + ")} value=${count(total)} /></td>`)}</tr></tfoot>
    </table></div>`;
}

function Line({text, value}) {
  return html`<div class="f"><span title=${text}>${text}</span><b>${value}</b></div>`;
}
