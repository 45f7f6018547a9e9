import {html} from "../../lib/html.js";
import {gettext, labelled, listText, ngettext} from "../../lib/words.js";
import {attemptName} from "../../model/pods/evidence.js";
import {scoresOf} from "../../model/pods/scores.js";
import {isOnlyFeasible} from "../../model/pods/verdict.js";
import {broken} from "./matrix.js";

const NODES = 4;

/** The scores of the feasible nodes, plugin by plugin: raw → normalised × weight. */
export function Scores({evidence}) {
  const scores = scoresOf(evidence, NODES);
  return html`
    <section aria-label=${gettext("Scores")}>
      <div class="sechead"><h2>${gettext("Scores")}</h2><span class="note">${scores ? gettext("{attempt} · raw → normalised × weight", {attempt: attemptName(evidence)}) : ""}</span></div>
      ${scores && isOnlyFeasible(evidence) && html`<p class="small soft">${gettext("Single feasible node: scoring was skipped; the scores below are hypothetical.")}</p>`}
      ${scores ? html`<${Table} scores=${scores} />` : html`<p class="small soft">${nothing(evidence)}</p>`}
    </section>`;
}

function nothing(evidence) {
  const name = attemptName(evidence);
  if (evidence.feasible === 0 || !evidence.node)
    return gettext("No feasible node in {name}, so nothing was scored.", {name});
  return gettext("Scoring was skipped in {name}: there was only one feasible node.", {name});
}

function Table({scores: {rows, nodes, ahead, others, unscored, choice}}) {
  const lead = ahead > 0 ? gettext("{ahead} ahead", {ahead}) : choice;
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label=${gettext("Score table")}>
      <table class="tbl score"><colgroup><col style="width:152px" /></colgroup>
        <thead><tr><th scope="col">${gettext("Plugin")}</th>${nodes.map(
          ({name, chosen}) => html`
          <th key=${name} scope="col">${name}${chosen && html` <span class="mute">${gettext("chosen")}</span>`}</th>`,
        )}</tr></thead>
        <tbody>${rows.map(
          ({plugin, parts}) => html`
          <tr key=${plugin}><th scope="row">${broken(plugin)}</th>${parts.map(
            (part, i) => html`
            <${Part} key=${nodes[i].name} part=${part} wins=${nodes[i].chosen} />`,
          )}</tr>`,
        )}
          ${
            unscored.length > 0 &&
            html`<tr><th scope="row" class="mute">${ngettext("{count} plugin", "{count} plugins", unscored.length)}</th>
            <td colspan=${nodes.length} class="mute">${labelled(listText(unscored), gettext("scoring skipped"))}</td></tr>`
          }</tbody>
        <tfoot><tr><th scope="row">${gettext("Sum")}</th>${nodes.map(
          ({name, total, chosen}) => html`
          <td key=${name} class=${chosen ? "win" : ""}><b>${total}</b>${chosen && lead && html` <span class="tinted f-settled">${lead}</span>`}</td>`,
        )}</tr></tfoot>
      </table></div>
      ${others > 0 && html`<p class="micro mute after">${ngettext("{count} more node with lower or equal scores", "{count} more nodes with lower or equal scores", others)}</p>`}`;
}

function Part({part: {raw, normalized, weight, weighted, share}, wins}) {
  return html`
    <td class=${wins ? "win" : ""}><div class="calc">${raw} → ${normalized} × ${weight}<b>${weighted}</b></div>
      <div class="track"><i style=${`width:${(share * 100).toFixed(1)}%`}></i></div></td>`;
}
