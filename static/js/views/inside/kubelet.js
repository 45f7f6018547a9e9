import {html} from "../../lib/html.js";
import {gettext, listText, ngettext} from "../../lib/words.js";
import {attachedState, deviceState, mountStates, nextStep, volumesOf} from "../../model/health/node_volumes.js";
import {nameOf} from "../../model/inside/steps.js";
import {ladderOf} from "../../model/inside/tries.js";
import {volumeName} from "../../model/inside/words.js";
import {count, parseId, timeText} from "../../model/shared/format.js";
import {Mark} from "../shared/mark.js";
import {Ladder, Ticks} from "./ladder.js";

/** One tick of a kubelet, or the end of one of its operations. */
export function Kubelet({inside, step}) {
  const {answer} = inside.held.value;
  return html`
    <${Loop} step=${step} version=${answer.version} />
    <div class="sechead"><h3>${gettext("Ticks")}</h3><span class="note">${gettext("both loops run every 100 ms; drawn high where they did something")}</span></div>
    <${Ticks} steps=${answer.steps} step=${step} />
    <${Worlds} step=${step} />
    <${Backoff} tries=${answer.tries} step=${step} />`;
}

/** The populator writes the desired state, the reconciler reads it and makes the actual one. */
function Loop({step, version}) {
  const {tick, function: runs} = step;
  const isPopulator = runs.startsWith("findAnd");
  const asks = new Set(tick.asked.map((each) => each.function));
  const isLit = (name) => name === runs || asks.has(name) || tick.pods.some((pod) => pod.done && pod.function === name);
  return html`
    <div class="loop">
      <section class=${isPopulator ? "lit" : ""}><h3>${gettext("Populator")}</h3>${["findAndAddNewPods", "findAndRemoveDeletedPods"].map((name) => html`<${Function} key=${name} name=${name} isLit=${isLit(name)} />`)}</section>
      <i class="into">${gettext("writes")}</i><section class="world"><h3>${gettext("Desired state")}</h3><b class="num">${count(tick.desired)}</b><small>${ngettext("volume", "volumes", tick.desired)}</small></section>
      <i class="into">${gettext("reads")}</i><section class=${!isPopulator && step.outcome === "" ? "lit" : ""}><h3>${gettext("Reconciler")}</h3>${reconcilerParts(version).map(([name, shown]) => html`<${Function} key=${name} name=${shown} isLit=${isLit(name)} />`)}</section>
      <i class="into">${gettext("makes")}</i><section class="world"><h3>${gettext("Actual state")}</h3><b class="num">${count(tick.mounted)}</b><small>${gettext("mounted")}</small></section>
    </div>`;
}

function Function({name, isLit}) {
  return html`<p class=${`fn mono${isLit ? " lit" : ""}`}>${name}()</p>`;
}

/** The parts of reconcile(), and what they are called in this version; until v1.16 it is one function. */
function reconcilerParts(version) {
  const minor = Number(version.slice("v1.".length));
  const mounts =
    minor >= 26 ? "mountOrAttachVolumes" : minor >= 20 ? "mountAttachVolumes" : gettext("reconcile: mounts");
  const [unmounts, devices] =
    minor >= 20
      ? ["unmountVolumes", "unmountDetachDevices"]
      : [gettext("reconcile: unmounts"), gettext("reconcile: devices")];
  return [
    ["unmountVolumes", unmounts],
    ["mountOrAttachVolumes", mounts],
    ["unmountDetachDevices", devices],
  ];
}

/** The two states side by side, those that differ first. */
function Worlds({step: {at, tick}}) {
  const rows = volumesOf({volumes: tick.volumes});
  const gone = Object.keys(tick.before).filter((unique) => !tick.volumes[unique]);
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label=${gettext("Desired and actual state, table")}><table class="tbl worlds">
      <thead><tr>${[gettext("Volume"), gettext("Desired for"), "", gettext("Attached"), gettext("Device"), gettext("Mounted for"), gettext("The reconciler does")].map((title, place) => html`<th key=${place} scope="col">${title}</th>`)}</tr></thead>
      <tbody>${rows.map((row) => html`<${World} key=${row.unique} row=${row} at=${at} isNew=${isChanged(row.unique, tick)} />`)}
        ${gone.map((unique) => html`<tr key=${unique} class="changed"><th scope="row" class="mono">${volumeName(unique, tick.before)}</th><td class="mute" colspan="6">${gettext("is in neither state any more")}</td></tr>`)}</tbody></table></div>
    ${tick.equal > 0 && html`<p class="small mute after">${ngettext("{count} more is as it should be.", "{count} more are as they should be.", tick.equal)}</p>`}`;
}

function isChanged(unique, {volumes, before}) {
  return JSON.stringify(volumes[unique]) !== JSON.stringify(before[unique]);
}

function World({row, at, isNew}) {
  const next = nextStep(row, at);
  const pods = listText(row.desired.map(([pod]) => parseId(`pod/${pod}`).name));
  return html`
    <tr class=${`${row.sign === "=" ? "" : "differs"}${isNew ? " changed" : ""}`}><th scope="row" class="mono" title=${row.unique}>${row.name}</th>
      <td>${pods || html`<span class="mute">${gettext("nobody")}</span>`}</td><td><span class="sign">${row.sign}</span></td>
      <td><${Stated} state=${attachedState(row, at)} /></td><td><${Stated} state=${deviceState(row, at)} /></td>
      <td>${mountStates(row, at).map(([mark, family, words, pod]) => html`<${Stated} key=${pod ?? words} state=${[mark, family, pod ? `${words} ${parseId(`pod/${pod}`).name}` : words]} />`)}</td>
      <td class=${next === "nothing" ? "mute" : ""} title=${row.trouble?.error}>${next}</td></tr>`;
}

function Stated({state: [mark, family, words]}) {
  if (!mark) return html`<span class="mute">${words}</span>`;
  return html`<span class="state"><${Mark} name=${mark} family=${family} />${words || gettext("yes")}</span>`;
}

/** The tries of an operation that fails, on the volume that this step is about. */
function Backoff({tries, step}) {
  const {tick, entity, at} = step;
  const concerned = [...tick.ended, ...tick.asked].map(({volume}) => volumeName(volume, tick.volumes, tick.before));
  const names = [...new Set([...concerned, ...Object.values(tick.volumes).map(({name}) => name)])];
  const ladder = names.map((volume) => ladderOf(tries, {at, node: nameOf(entity), volume})).find(Boolean);
  if (!ladder) return null;
  return html`
    <div class="sechead"><h3>${gettext("Backoff of {volume}", {volume: ladder.volume})}</h3><span class="note">${gettext("0.5 s doubled up to 2 min 2 s; a tick tries again only after the wait")}</span></div>
    <${Ladder} ladder=${ladder} at=${at} />`;
}

/** How an operation ended; an error that stands above is not repeated. */
function endWords({error, failures}, step) {
  if (error === "") return gettext("without an error");
  return error === step.error ? gettext("with an error, {failures} in a row", {failures: count(failures)}) : error;
}

/** Every pod that the populator saw in this tick, and what the node holds. */
export function KubeletMemory({step}) {
  const {tick} = step;
  const functions = [...new Set(tick.pods.map((pod) => pod.function))];
  return html`
    ${functions.map(
      (name) => html`
      <h3 key=${name} class="fnhead">${name} <span class="mute">${gettext("saw")}</span></h3>
      <ol class="procs">${tick.pods
        .filter((pod) => pod.function === name)
        .map(
          (pod, place) => html`
        <li key=${place} class=${pod.done ? "on" : ""}><b class="cut" title=${pod.pod}>${parseId(`pod/${pod.pod}`).name}</b><span class="mute">${pod.found}</span><span>${pod.what}</span></li>`,
        )}</ol>`,
    )}
    ${
      tick.ended.length > 0 &&
      html`<h3>${gettext("Ended")}</h3><ol class="procs">${tick.ended.map(
        (end, place) =>
          html`<li key=${place} class="on"><b class="cut" title=${volumeName(end.volume, tick.volumes, tick.before)}>${volumeName(end.volume, tick.volumes, tick.before)}</b><span class="mono">${end.operation}</span><span>${endWords(end, step)}</span></li>`,
      )}</ol>`
    }
    <h4>${gettext("Populator after it")}</h4><dl class="memory">
      <div><dt>processedPods</dt><dd><b>${count(tick.processed)}</b></dd></div>
      <div><dt>hasAddedPods</dt><dd><b>${String(tick.has_added_pods)}</b></dd></div>
      <div><dt>loopSleepDuration</dt><dd><b>${gettext("100 ms")}</b></dd></div></dl>
    <h4>${gettext("Node status")}</h4><dl class="memory"><div><dt>volumesInUse</dt><dd><b>${count(tick.in_use)}</b></dd></div></dl>
    ${tick.ended.some(({retry_at: retry}) => retry !== null) && html`<h4>${gettext("Next try")}</h4><dl class="memory">${tick.ended.filter(({retry_at: retry}) => retry !== null).map((end, place) => html`<div key=${place}><dt class="cut" title=${end.operation}>${end.operation}</dt><dd><b>${timeText(end.retry_at ?? 0)}</b></dd></div>`)}</dl>`}`;
}
