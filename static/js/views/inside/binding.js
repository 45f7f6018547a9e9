import {useEffect, useState} from "preact/hooks";

import {html} from "../../lib/html.js";
import {gettext, listText, ngettext} from "../../lib/words.js";
import {memoryOf, nameOf, versionsOf, whoOf, writesUpTo} from "../../model/inside/steps.js";
import {linesOf, readWords} from "../../model/inside/tree.js";
import {bytes, moment, parseId, timeText} from "../../model/shared/format.js";
import {verdictLook} from "../../model/volumes/candidates.js";
import {Icon, Mark} from "../shared/mark.js";

/** A step of the PV controller, the scheduler or the attach/detach controller. */
export function Binding({inside, step, place}) {
  const {answer} = inside.held.value;
  const pair = pairOf(step, answer);
  return html`
    ${step.taken.map((taken) => html`<${Tree} key=${taken.function} tree=${answer.trees.find((each) => each.function === taken.function)} taken=${taken} />`)}
    ${step.function === "AssumePodVolumes" && html`<${Candidates} inside=${inside} step=${step} />`}
    ${step.part === "attach" && html`<${Attaching} step=${step} />`}
    ${pair && step.part !== "attach" && html`<${Writes} steps=${answer.steps} place=${place} pair=${pair} />`}
    ${pair && step.part !== "attach" && html`<${Versions} steps=${answer.steps} place=${place} pair=${pair} />`}`;
}

/** The claim and the volume that a step is about, of which a pod may have several. */
function pairOf(step, answer) {
  const known = Object.fromEntries(step.known.map((each) => [each.entity, each]));
  const [kind] = step.entity.split("/", 1);
  const claim = kind === "claim" ? nameOf(step.entity) : known[step.entity]?.names || answer.claims[0];
  if (!claim) return null;
  const named = step.says.volume || known[`claim/${claim}`]?.names;
  const bound = step.known.find(({entity, names}) => entity.startsWith("volume/") && names === claim);
  const volume =
    kind === "volume" ? nameOf(step.entity) : named || nameOf(bound?.entity ?? laterVolume(step, answer, claim));
  return {claim, volume};
}

/** The volume that the claim gets later on, if it is there at the step. */
function laterVolume(step, answer, claim) {
  for (const {known} of answer.steps) {
    const found = known.find(({entity, names}) => entity.startsWith("volume/") && names === claim);
    const isThere = step.known.some(({entity, api_server: version}) => version !== "" && entity === found?.entity);
    if (found) return isThere ? found.entity : "";
  }
  return "";
}

/** The look of a line of a tree, by its kind. */
const LOOKS = {function: "fn", question: gettext("q"), end: "end"};

function Tree({tree, taken}) {
  const [opened, setOpened] = useState(new Set());
  if (!tree) return null;
  const turn = (id) => {
    const next = new Set(opened);
    if (!next.delete(id)) next.add(id);
    setOpened(next);
  };
  return html`<ol class="branches" aria-label=${gettext("The way through {function}", {function: tree.function})}>${linesOf(
    tree,
    taken,
    opened,
  ).map(
    (line) => html`
    <li key=${line.id} class=${`${LOOKS[line.kind]}${line.isLit ? " lit" : ""}`} style=${`--d:${line.depth}`}>
      <span class="tx">${line.text}</span>
      ${line.isLit && line.read !== undefined && html`<span class="said">${readWords(line.read)}</span>`}
      ${line.isLong && html`<button type="button" class="link said" aria-expanded=${line.folded === 0} onClick=${() => turn(line.id)}>${line.folded > 0 ? ngettext("{count} branch", "{count} branches", line.folded) : gettext("fold")}</button>`}</li>`,
  )}</ol>`;
}

function Writes({steps, place, pair}) {
  const rows = writesUpTo(steps, place, pair);
  return html`
    <div class="sechead"><h3>${gettext("Four writes make a binding")}</h3><span class="note">${gettext("any of them may fail; the next sync goes on from what is written")}</span></div>
    <ol class="writes" style=${`--n:${rows.length}`}>${rows.map(
      (row, index) => html`
      <li key=${`${row.object}${row.field}`} class=${`${row.status}${row.isNow ? " now" : ""}`}>
        <span class="n">${row.status === "done" ? html`<${Icon} name="ok" />` : row.status === "refused" ? html`<${Icon} name="no" />` : index + 1}</span>
        <div><span class="mute">${`${row.object}.`}</span><wbr /><b class="mono">${row.field}</b>${row.value && row.field !== "created" && html`<span class="mono"> = ${row.value}</span>`}
          <small>${writeWords(row)}</small></div></li>`,
    )}</ol>`;
}

function writeWords({status, step, version, error}) {
  if (status === "refused") return gettext("refused: {error}", {error});
  if (status === "missing") return gettext("not written");
  if (!step) return gettext("written before");
  return gettext("{who} · {at} · rv {version}", {who: whoOf(step), at: timeText(step.at), version});
}

function Versions({steps, place, pair}) {
  const objects = [
    ...(pair.volume ? [[pair.volume, `volume/${pair.volume}`]] : []),
    [gettext("claim {name}", {name: parseId(`claim/${pair.claim}`).name}), `claim/${pair.claim}`],
  ];
  return html`
    <div class="sechead"><h3>${gettext("Who knows which version")}</h3><span class="note">${gettext("resourceVersion after each step: what is late is amber, what is only assumed purple")}</span></div>
    <div class="twovers">${objects.map(([title, entity]) => html`<${VersionTable} key=${entity} title=${title} table=${versionsOf(steps, place, entity)} />`)}</div>`;
}

function VersionTable({title, table: {columns, rows}}) {
  if (columns.length === 0) return null;
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label=${gettext("Versions of {title}, table", {title})}><table class="tbl vers">
      <thead><tr><th scope="col" class="cut" title=${title}>${title}</th>${columns.map(({step, isNow}) => html`<th key=${step.id} scope="col" class=${isNow ? "now" : ""} title=${step.function}>${moment(step.at)}</th>`)}</tr></thead>
      <tbody>${rows.map(
        ({title: row, cells}) => html`
        <tr key=${row}><th scope="row">${row}</th>${cells.map(
          (cell, place) =>
            html`<td key=${columns[place].step.id} class=${cellClass(cell, columns[place])}>${
              columns[place].isAhead ? "" : html`${cell.text}${cell.over && html`<small>+ ${cell.over}</small>`}`
            }</td>`,
        )}</tr>`,
      )}</tbody></table></div>`;
}

function cellClass({over, isStale}, {isNow, isAhead}) {
  if (isAhead) return "ahead";
  return [isNow && "now", over && "assumed", isStale && "stale"].filter(Boolean).join(" ");
}

/** What matching says of each volume, when the scheduler chooses. */
function Candidates({inside, step}) {
  useEffect(() => {
    inside.readCandidates(step);
  }, [step.id]);
  const found = inside.candidates.value.get(step.id);
  if (!found)
    return html`<p class="small mute" role="status">${found === undefined ? "" : gettext("Evaluating candidates…")}</p>`;
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label=${gettext("Candidate volumes, table")}><table class="tbl">
      <thead><tr><th scope="col">${gettext("Volume")}</th><th scope="col">${gettext("Capacity")}</th><th scope="col">${gettext("Class")}</th><th scope="col">${gettext("On {node}", {node: step.says.node})}</th></tr></thead>
      <tbody>${found.candidates.map((row) => html`<${Candidate} key=${row.volume} row=${row} chosen=${step.says.volume} />`)}</tbody></table></div>`;
}

function Candidate({row, chosen}) {
  const isChosen = row.volume === chosen;
  const [mark, family, words] = verdictLook(isChosen ? "chosen" : row.verdict, true);
  return html`
    <tr class=${isChosen ? "picked" : ""}><th scope="row" class="mono">${row.volume}</th><td>${bytes(row.capacity)}</td><td>${row.class || gettext("none")}</td>
      <td><span class="state"><${Mark} name=${mark} family=${family} />${isChosen ? html`<b>${gettext("chosen by the scheduler")}</b>` : words}</span> <span class="mute">${row.text}</span></td></tr>`;
}

function Attaching({step: {says, entity}}) {
  const facts = [
    ["node", nameOf(entity)],
    ["volume", says.volume],
    [gettext("attached to"), listText(says.others ?? [])],
    [gettext("failures in a row"), says.failures ? String(says.failures) : ""],
  ].filter(([, value]) => value);
  return html`<dl class="memory facts">${facts.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd><b>${value}</b></dd></div>`)}</dl>`;
}

/** What the PV controller and the scheduler have in memory after the step, with what it changed. */
export function BindingMemory({step}) {
  const held = memoryOf(step);
  if (held.length === 0) return null;
  return html`
    <h3>${gettext("Memory at {at}", {at: timeText(step.at)})}</h3>
    ${held.map(
      ([whose, rows]) => html`
      <h4 key=${whose}>${whose}</h4><dl class="memory">${rows.map(
        ({what, before, after, isChanged}) => html`
        <div key=${what} class=${isChanged ? "changed" : ""}><dt class="cut" title=${what}>${what}</dt>
          <dd>${isChanged && html`<s><span class="vh">${gettext("before:")} </span>${before || "–"}</s><span aria-hidden="true"> → </span>`}<b>${after || "–"}</b></dd></div>`,
      )}</dl>`,
    )}`;
}
