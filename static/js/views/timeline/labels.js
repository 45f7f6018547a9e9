import {html} from "../../lib/html.js";
import {gettext} from "../../lib/words.js";
import {ROW, labelOf, podOf, saysRight, spokenOf, stageMark} from "../../model/timeline/rows.js";
import {Mark} from "../shared/mark.js";

/** The labels of the rows in sight: buttons, each with the sums of its row in its name. */
export function Labels({trace, answer, path}) {
  return html`<div class="tlabels" role="group" aria-label=${gettext("Rows")}>${answer.rows.map(
    (row, i) => html`<${Label} key=${row.key} trace=${trace} row=${row} path=${path} y=${(answer.first + i) * ROW} />`,
  )}</div>`;
}

function Label({trace, row, path, y}) {
  if (row.kind === "none") return null;
  const {space, name, right, indent, opens} = labelOf(row, path);
  const isOpen = trace.open.value.has(row.key);
  const act = () => {
    const pod = podOf(row);
    if (opens) trace.turn(row.key);
    else if (pod) trace.choose(pod);
    else if (row.event) trace.session.playhead.seek({seq: row.event.seq}, {isJump: true});
  };
  const looks = [`tlrow k-${row.kind} in${indent}`, row.chosen && "chosen", row.in_path && "onpath"];
  const look = looks.filter(Boolean).join(" ");
  const inside = html`
    <span class="l">${opens && html`<i class=${`turn${isOpen ? " o" : ""}`}></i>`}${row.stage && html`<${StageMark} stage=${row.stage} />`}
      <span class="cut">${space && html`<span class="mute">${space}</span>`}<b>${name}</b></span></span>
    ${" "}${right && html`<span class="r num" aria-hidden=${saysRight(row) ? "true" : undefined}>${right}</span>`}<span class="vh"> ${spokenOf(row, path)}</span>`;
  const style = `top:${y}px;height:${ROW}px`;
  if (row.kind === "section") return html`<h2 class=${look} style=${style}>${inside}</h2>`;
  return html`
    <button type="button" class=${look} style=${style} data-row=${row.key} title=${`${space}${name}`}
      aria-expanded=${opens ? String(isOpen) : undefined} aria-current=${row.chosen ? "true" : undefined} onClick=${act}
      onnextevent=${() => trace.toNext(row)}>${inside}</button>`;
}

function StageMark({stage}) {
  const {mark, family} = stageMark(stage);
  return html`<${Mark} name=${mark} family=${family} />`;
}
