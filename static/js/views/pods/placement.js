import {html} from "../../lib/html.js";
import {clauses, gettext, listText, ngettext} from "../../lib/words.js";
import {isShadow, sinceWords} from "../../model/pods/evidence.js";
import {choiceOf} from "../../model/pods/scores.js";
import {bestFirst, closestFirst, isOnlyFeasible} from "../../model/pods/verdict.js";

const ROWS = 7;

/** Why a pod has no node: the nodes that it does not fit, the closest to fitting first. */
export function WhyNot({model, pod, evidence}) {
  const {nodes} = model;
  if (!evidence || pod.node || pod.assumed) return null;
  if (evidence.prefilter)
    return html`<${Refused} prefilter=${evidence.prefilter} since=${sinceWords(evidence, model)} />`;
  const rows = closestFirst(evidence);
  if (rows.length === 0) return null;
  const skipped = (evidence.not_evaluated ?? []).length;
  return html`
    <section><h3>${gettext("Why nodes do not fit")}<span>${noted(gettext("closest first"), evidence, model)}</span></h3>
      <${Table} nodes=${nodes} heads=${[gettext("First failing plugin"), gettext("By how much")]} rows=${rows.slice(0, ROWS).map(unfitRow(pod))} />
      <${More} count=${rows.length - ROWS} skipped=${skipped} />
    </section>`;
}

/** Why a pod is on its node: the feasible nodes, by score. */
export function WhyHere({model, pod, evidence}) {
  const {nodes} = model;
  const rows = bestFirst(evidence);
  if (rows.length === 0 || !(pod.node || pod.assumed)) return null;
  return html`
    <section><h3>${isShadow(evidence) ? gettext("What kscope would have chosen") : gettext("Why this node")}<span>${noted(isOnlyFeasible(evidence) ? gettext("the only node that fits, hypothetical score") : gettext("highest score first"), evidence, model)}</span></h3>
      <${Table} nodes=${nodes} heads=${[gettext("Verdict"), "Score"]} rows=${rows.slice(0, ROWS).map(fitRow(evidence))} />
      <${More} count=${rows.length - ROWS} skipped=${0} />
    </section>`;
}

/** The note of a table, and how much has happened since its attempt. */
function noted(words, evidence, model) {
  return listText([words, sinceWords(evidence, model)].filter(Boolean));
}

/** A PreFilter plugin rejected the pod before any node was evaluated. */
function Refused({prefilter, since}) {
  return html`
    <section><h3>${gettext("Rejected in PreFilter")}<span>${since}</span></h3>
      <dl class="kv"><dt>${prefilter.plugin}</dt><dd>${clauses(prefilter.reasons)}</dd></dl></section>`;
}

const unfitRow =
  (pod) =>
  ([name, verdict]) => ({
    name,
    look: name === pod.nominated ? "hit" : "",
    middle: verdict.plugin,
    end: verdict.text,
    title: [verdict.text, ...(verdict.reasons ?? [])].join("\n"),
  });

const fitRow =
  (evidence) =>
  ([name, score]) => ({
    name,
    look: name === evidence.node ? "hit won" : "",
    middle: fitWords(evidence, name),
    end: isOnlyFeasible(evidence) ? `(${score.total})` : score.total,
    title: [
      isOnlyFeasible(evidence)
        ? gettext("({total}) is hypothetical: scoring was skipped", {total: score.total})
        : String(score.total),
      ...Object.entries(score.plugins ?? {}).map(([plugin, parts]) => `${plugin} ${parts.join(" → ")}`),
    ].join("\n"),
  });

function fitWords(evidence, name) {
  if (name !== evidence.node) return gettext("fits");
  return choiceOf(evidence) || gettext("chosen");
}

function Table({nodes, heads, rows}) {
  const longest = Math.max(...rows.map(({name}) => nodes.label(name).length));
  const width = Math.min(112, Math.max(62, longest * 7 + 10));
  return html`
    <table class="vt">
      <colgroup><col style=${`width:${width}px`} /><col style="width:118px" /><col /></colgroup>
      <thead class="vh"><tr><th>${gettext("Node")}</th>${heads.map((head) => html`<th key=${head}>${head}</th>`)}</tr></thead>
      <tbody>${rows.map(
        ({name, look, middle, end, title}) => html`
        <tr key=${name} class=${look}><th scope="row" class="cut" title=${name}>${nodes.label(name)}</th>
          <td class="cut" title=${middle}>${middle}</td><td class="num cut" title=${title}>${end}</td></tr>`,
      )}</tbody>
    </table>`;
}

function More({count, skipped}) {
  const words =
    count > 0 && skipped > 0
      ? ngettext("{count} more and {skipped} not evaluated", "{count} more and {skipped} not evaluated", count, {
          skipped,
        })
      : count > 0
        ? ngettext("{count} more", "{count} more", count)
        : skipped > 0 && gettext("{skipped} not evaluated", {skipped});
  return words && html`<p class="micro mute after">${words}</p>`;
}
