import {Component} from "preact";

import {html} from "../../lib/html.js";
import {gettext, labelled, listParts, listText} from "../../lib/words.js";
import {healthOf} from "../../model/run/health_of.js";
import {brief, podHealth} from "../../model/health/pod.js";
import {hint, meters, wants} from "../../model/nodes/nodes.js";
import {VERDICT_LOOK, emphasise, verdictOf} from "../../model/pods/verdict.js";
import {parseId, ratio} from "../../model/shared/format.js";
import {NodeLink} from "../shared/links.js";
import {Icon} from "../shared/mark.js";

const TILES = 45;

/** One node. It is drawn again only if the node, its pods or the selected pod's evidence changed. */
export class NodeCard extends Component {
  shouldComponentUpdate(next) {
    const {props} = this;
    return (
      next.version !== props.version ||
      next.node !== props.node ||
      next.model !== props.model ||
      next.drivers !== props.drivers ||
      next.devices !== props.devices ||
      next.taken !== props.taken ||
      next.stop !== props.stop ||
      next.stale !== props.stale ||
      next.asked.id !== props.asked.id ||
      next.asked.pod !== props.asked.pod ||
      next.asked.evidence !== props.asked.evidence
    );
  }

  render({session, model, name, node, version, asked, stop, stale, ...counted}) {
    const verdict = verdictOf(asked.evidence, name);
    const target = asked.target === name && !asked.pod.node;
    const here = asked.target === name && Boolean(asked.pod.node);
    const wanted = target || (!asked.target && asked.closest === name) ? wants(asked.pod) : null;
    const infeasible = verdict && !target && (verdict.kind === "unfit" || verdict.kind === "skipped");
    return html`
      <article class=${`node${infeasible ? " infeasible" : ""}${target ? " target" : ""}`} aria-label=${gettext("Node {name}", {name})} data-entity=${`node/${name}`}>
        <header><b class="cut"><${NodeLink} session=${session} name=${name}>${model.nodes.label(name)}<//></b><${Hint} asked=${asked} name=${name} node=${node} model=${model} target=${target} here=${here} /></header>
        <dl class="meters">${meters(node ?? {}, asked.pod?.assumed ? null : wanted, counted).map((row) => html`<${Meter} key=${row.resource} row=${row} />`)}</dl>
        <${Tiles} session=${session} model=${model} name=${name} version=${version} selected=${asked.id} stop=${stop} />
        <${Verdict} verdict=${verdict} target=${target} closest=${asked.closest === name} stale=${stale} />
      </article>`;
  }
}

/** What the card says beside the node's name: a problem before what the selected pod has to do with it. */
function Hint({asked, name, node, model, target, here}) {
  const problem = node ? healthOf(`node/${name}`, model) : GONE;
  if (problem.family === "stuck" || problem.family === "held")
    return html`<span class=${`hint cut tinted f-${problem.family}`} title=${labelled(brief(problem), problem.detail)}>${brief(problem)}</span>`;
  const words = hintText(asked, node, model.at, target, here);
  return html`<span class="hint cut" title=${words}>${words}</span>`;
}

const GONE = {
  family: "stuck",
  words: gettext("deleted"),
  detail: gettext("This node was deleted; its pods are not gone yet."),
};

function hintText(asked, node, at, target, here) {
  if (target) return asked.pod.assumed ? gettext("assumed") : gettext("nominated");
  if (here) return gettext("{name} here", {name: parseId(asked.id).name});
  return hint(node, at);
}

function Meter({row}) {
  const percent = (part) => `${(part * 100).toFixed(1)}%`;
  return html`
    <dt class="cut" title=${row.title}>${row.label}</dt>
    <dd><div class="meter" role="img" aria-label=${spoken(row)}><i style=${`width:${percent(row.settled)}`}></i>
      ${row.assumed > 0 && html`<i class="as" style=${`left:${percent(row.settled)};width:${percent(row.assumed)}`}></i>`}
      ${row.want > 0 && html`<i class="want" style=${`left:${percent(row.wantFrom)};width:${percent(row.want)}`}></i>`}
      ${row.short > 0 && html`<i class="over" style=${`left:100%;width:${percent(Math.min(0.12, row.short))}`}></i>`}</div></dd>
    <dd>${ratio(row.resource, row.requested, row.whole)}</dd>`;
}

function spoken(row) {
  const facts = {resource: row.title, ratio: ratio(row.resource, row.requested, row.whole)};
  return row.assumed > 0
    ? gettext("{resource}: {ratio} requested, partly assumed", facts)
    : gettext("{resource}: {ratio} requested", facts);
}

// The version makes the tiles draw again, because the model stays the same object.
function Tiles({session, model, name, selected, stop}) {
  const {hidden, drawn} = drawnTiles(model.nodes, name);
  return html`
    <div class="tiles">
      ${hidden > 0 && html`<span class="tile wide mute">+${hidden}</span>`}
      ${drawn.map(({id, pod, state}) => html`<${Tile} key=${id} session=${session} id=${id} pod=${pod} state=${state} selected=${id === selected} stop=${id === stop} />`)}
    </div>`;
}

/** The tiles of a node that are drawn, and the number of those that are not. */
export function drawnTiles(nodes, name) {
  const tiles = nodes.tiles(name);
  const hidden = Math.max(0, tiles.length - TILES);
  // Leave out bound pods first: the other tiles show pods that are about to change.
  return {hidden, drawn: tiles.slice(hidden)};
}

function Tile({session, id, pod, state, selected, stop}) {
  const {state: health, mark, family, words, detail} = podHealth(id, pod, session.model);
  const {key, name} = parseId(id);
  const wide = state === "nominated";
  return html`
    <button class=${`tile ${health === "well" ? "calm" : `f-${family}`}${wide ? " wide" : ""}`} data-pod=${id} aria-pressed=${String(selected)} tabindex=${stop ? 0 : -1}
      aria-label=${listText([gettext("pod {key}", {key}), words])} title=${listText([key, detail])} onClick=${() => session.pick(id)}>
      <${Icon} name=${mark} />${wide && html`<span class="cut">${name}</span>`}</button>`;
}

const STALE = gettext("From before the event shown: the cluster may have changed since then.");

function Verdict({verdict, target, closest, stale}) {
  if (!verdict) return null;
  const {mark, family} = VERDICT_LOOK[target && verdict.kind === "unfit" ? "target" : verdict.kind];
  const [before, strong, after] = verdict.kind === "unfit" ? emphasise(verdict.text) : [verdict.text, "", ""];
  const isClosest = closest && verdict.kind === "unfit";
  const whole = [
    listText([verdict.text, ...(isClosest ? [gettext("closest")] : [])]),
    ...(verdict.reasons ?? []),
    stale && STALE,
  ];
  return html`
    <p class=${`verdict f-${family}${stale ? " stale" : ""}`} title=${whole.filter(Boolean).join("\n")}>
      <${Icon} name=${mark} /><span class="cut">${before}${strong && html`<b>${strong}</b>`}${after}${isClosest && listParts(["", gettext("closest")])}</span></p>`;
}
