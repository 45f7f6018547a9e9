import {html} from "../../lib/html.js";
import {gettext, labelled, listText, ngettext} from "../../lib/words.js";
import {nodesTitle} from "../../model/triage/words.js";

const MOST_REASONS = 4;
const MOST_SQUARES = 12;

/** All nodes, by why they refuse the pods; the closest come first, with their arithmetic. */
export function NodeAccount({group, all}) {
  const {nodes_by_reason: found} = group;
  if (found.length === 0) return null;
  const shown = found.length > MOST_REASONS ? found.slice(0, MOST_REASONS - 1) : found;
  const left = found.slice(shown.length);
  const pod = group.workload_counts.length > 1 ? found[0].pod : "";
  const parts = shown.length + (left.length > 0 ? 1 : 0);
  return html`
    <ul class=${`acct${parts === 1 ? " one" : ""}`} style=${`--rest:${Math.max(parts - 1, 1)}`} aria-label=${titleWords(all, pod)}>
      ${shown.map((each) => html`<${Nodes} key=${each.nodes[0]} found=${each} />`)}
      ${
        left.length > 0 &&
        html`<li><b>${ngettext(
          "{count} other",
          "{count} others",
          left.reduce((sum, each) => sum + each.count, 0),
        )}</b><span>${ngettext("for {count} other set of reasons", "for {count} other sets of reasons", left.length)}</span></li>`
      }</ul>`;
}

function titleWords(all, pod) {
  return pod
    ? ngettext(
        "Why the {count} node refuses these pods, as for {pod}",
        "Why each of the {count} nodes refuses these pods, as for {pod}",
        all,
        {pod},
      )
    : ngettext("Why the {count} node refuses these pods", "Why each of the {count} nodes refuses these pods", all);
}

function Nodes({found}) {
  const {count: number, reason, detail, is_closest: closest, check, nodes} = found;
  return html`
    <li class=${closest ? "close" : ""} title=${listText(nodes)}>
      ${number <= MOST_SQUARES && html`<span class="nds" aria-hidden="true">${nodes.map((name) => html`<i key=${name}></i>`)}</span>`}<b>${nodesTitle(found)}</b>
      <span>${reasonWith(closest ? html`<b class="sh">${reason}</b>` : reason, detail)}</span>${check?.allocatable > 0 && html`<${Meter} check=${check} />`}</li>`;
}

function reasonWith(reason, detail) {
  return detail ? gettext("{reason}; {detail}", {reason, detail}) : reason;
}

/** What is requested on the closest node, the room that a pod wants, and what is missing. */
function Meter({check: {free, allocatable, requested}}) {
  const part = (amount) => `${Math.min(100, (100 * amount) / allocatable).toFixed(1)}%`;
  const used = allocatable - free;
  return html`
    <span class="meter" aria-hidden="true"><i style=${`left:0;width:${part(used)}`}></i><i class="want" style=${`left:${part(used)};width:${part(Math.min(requested, free))}`}></i>${
      requested > free && html`<i class="over" style="left:100%;width:6px"></i>`
    }</span>`;
}

/** The same as one bar, for a line of a large cluster. */
export function NodeBar({group, all}) {
  const {nodes_by_reason: found} = group;
  if (found.length === 0) return html`<span class="cb mute"></span>`;
  const words = found.map(({count: number, reason}) =>
    ngettext("{count} node: {reason}", "{count} nodes: {reason}", number, {reason}),
  );
  return html`
    <span class="cb"><span class="nbar" role="img" aria-label=${listText(words.slice(0, MOST_REASONS))}>${found.map(
      (each, i) =>
        html`<i key=${each.nodes[0]} class=${each.is_closest ? "close" : ""} style=${`width:${((100 * each.count) / all).toFixed(1)}%`} title=${words[i]}></i>`,
    )}</span><span>${labelled(nodesTitle(found[0]), found[0].reason)}</span></span>`;
}
