import {useState} from "preact/hooks";

import {html} from "../../lib/html.js";
import {gettext, ngettext} from "../../lib/words.js";
import {count} from "../../model/shared/format.js";
import {MOST_LINES} from "../../model/triage/answer.js";
import {age, clock, heldWords, minutesBetween} from "../../model/triage/words.js";
import {Sentence} from "../shared/sentence.js";
import {NodeBar} from "./account.js";
import {Card} from "./card.js";
import {BestLine} from "./overview.js";

/** The causes of a large cluster: one line each, opened into its card. */
export function Lines({groups, ...parts}) {
  const [all, setAll] = useState(false);
  const {answer, triage} = parts;
  const isBeyond = groups.slice(MOST_LINES).some(({place}) => place === triage.at.value);
  const shown = all || isBeyond ? groups : groups.slice(0, MOST_LINES);
  const left = groups.slice(shown.length);
  const held = left.reduce((sum, {pods, pods_missing: missing}) => sum + pods.length + missing, 0);
  const hasNodes = groups.some(({nodes_by_reason: nodes}) => nodes.length > 0);
  if (groups.length === 0) return null;
  return html`
    ${hasNodes && html`<div class="lhead micro mute" aria-hidden="true"><span>${gettext("Holds")}</span><span>${gettext("What holds them")}</span><span>${ngettext("{count} node, by why it refuses", "{count} nodes, by why they refuse; the closest is filled", answer.looked_at.node)}</span><span class="right">${gettext("Waiting")}</span><span>${gettext("Best change")}</span></div>`}
    <ol class="crows">${shown.map((group) => html`<${Line} key=${group.place} ...${parts} group=${group} />`)}
      ${left.length > 0 && html`<li class="crow"><button type="button" onClick=${() => setAll(true)}><span class="cn num">${count(left.length)}</span><span class="cs"><b>${ngettext("and {number} more hold {count} pod", "and {number} more hold {count} pods", held, {number: count(left.length)})}</b></span></button></li>`}</ol>`;
}

function Line({group, ...parts}) {
  const {triage, answer, status} = parts;
  const isOpen = triage.opened.value.includes(group.place);
  const {number, what} = heldWords(group);
  const minutes = minutesBetween(group.since, answer.instant);
  return html`
    <li class="crow"><button type="button" aria-expanded=${String(isOpen)} onClick=${() => triage.toggle(group.place)}><b class="num cn">${count(number)}<span class="vh"> ${what}</span></b>
        <span class="cs"><b><${Sentence} text=${group.short} /></b><span>${whom(group)}</span></span><${NodeBar} group=${group} all=${answer.looked_at.node} />
        <span class="ct num">${minutes === null ? "–" : age(minutes)}${group.since && html`<span>${gettext("since {since}", {since: clock(group.since, answer.instant)})}</span>`}</span>
        <${BestLine} group=${group} status=${status} /><i class="tri"></i></button>
      ${isOpen && html`<${Card} ...${parts} group=${group} />`}</li>`;
}

/** "61 Deployments in 14 namespaces", or the only workload; else the object behind it. */
function whom({workload_counts: counts, by}) {
  if (counts.length === 0) return by;
  if (counts.length === 1) return counts[0].workload.replace("/", " ");
  const spaces = new Set(counts.map(({workload}) => workload.split("/")[1]));
  const workloads = count(counts.length);
  if (spaces.size === 1) return gettext("{workloads} workloads in {namespace}", {workloads, namespace: [...spaces][0]});
  return ngettext(
    "{workloads} workloads in {count} namespace",
    "{workloads} workloads in {count} namespaces",
    spaces.size,
    {workloads},
  );
}
