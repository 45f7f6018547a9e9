import {html} from "../../lib/html.js";
import {gettext, listText} from "../../lib/words.js";
import {groupsOf} from "../../model/inside/cycle_filter.js";
import {count} from "../../model/shared/format.js";
import {Mark} from "../shared/mark.js";

/** The reasons of a large search with their counts; one that is picked darkens its nodes alone. */
export function Reasons({player}) {
  const {front} = player.picture.value;
  const search = front ? player.film.value.answer.filter.searches[front.search] : null;
  const nodes = search?.nodes.slice(0, front?.upto ?? 0) ?? [];
  const groups = search ? groupsOf({...search, nodes}) : [];
  const fits = nodes.filter(({refusal}) => refusal < 0).length;
  const only = player.only.value;
  return html`
    <section class="fm-reasons"><header><h2>${gettext("By reason")}</h2><span class="n">${gettext("{number} looked at", {number: count(nodes.length)})}</span></header>
      <ul><${Reason} player=${player} place=${-1} words=${gettext("fits")} many=${fits} all=${nodes.length} />
        ${groups.map(({reasons, plugin, many, example}) => html`<${Reason} key=${`${plugin} ${reasons}`} player=${player} place=${example.refusal} words=${listText(reasons) || plugin} many=${many} all=${nodes.length} example=${`${example.node} ${example.text}`} />`)}</ul>
      <p class="fm-note">${only === null ? gettext("Pick a reason to see where its nodes are.") : gettext("Only these nodes are dark in the strips. Pick again for all.")}</p></section>`;
}

function Reason({player, place, words, many, all, example = ""}) {
  const isFit = place < 0;
  const isPicked = player.only.value === place;
  return html`<li><button type="button" aria-pressed=${String(isPicked)} onClick=${() => {
    player.only.value = isPicked ? null : place;
  }}><${Mark} name=${isFit ? "bound" : "no"} family=${isFit ? "settled" : "stuck"} /><span>${words}</span><b class="num">${count(many)}</b>
    <i class=${isFit ? "f" : ""} style=${`width:${((many / Math.max(1, all)) * 100).toFixed(1)}%`}></i>${example && html`<small>${example}</small>`}</button></li>`;
}
