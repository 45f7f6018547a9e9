import {useEffect} from "preact/hooks";

import {html} from "../../lib/html.js";
import {gettext} from "../../lib/words.js";
import {cutName} from "../../model/run/two_boards.js";
import {lineName, linesOf, scalesOf, supposedWords, trialOf} from "../../model/inside/what_if.js";
import {amount as amountText, count} from "../../model/shared/format.js";
import {NO_FORK} from "../../model/shared/rights.js";
import {TryAgain} from "../shared/try_again.js";

/** More nodes than this are only asked about on request. */
const AT_ONCE = 200;
const BOX = {left: 34, width: 570, top: 8, height: 86};
const WIDE = 620;
const TALL = 112;
const MARKS = 5;

/** Drag what the pod asks for: the bars and formulas of the step follow. */
export function WhatIf({session, whatIf, answer}) {
  const {cycle, pod, order} = answer;
  const held = whatIf.held.value?.key === `${cycle} ${pod}` ? whatIf.held.value : null;
  const isSmall = order !== null && order.searched.order.length <= AT_ONCE;
  useEffect(() => {
    if (isSmall) whatIf.ask(answer);
  }, [cycle, pod, isSmall]);
  if (order === null) return null;
  return html`
    <section class="whatif" aria-label=${gettext("What if")}>${
      held?.answer
        ? html`<${Drag} session=${session} whatIf=${whatIf} told=${held.answer} forkSeq=${answer.fork_seq} />`
        : html`<div class="sechead"><h3>${gettext("What if it asked for another amount")}</h3></div><${Unasked} whatIf=${whatIf} held=${held} answer=${answer} />`
    }</section>`;
}

function Unasked({whatIf, held, answer}) {
  if (held?.status === "loading")
    return html`<p class="small mute" role="status">${gettext("Deciding for other amounts…")}</p>`;
  return html`
    ${held?.status === "failed" && html`<p class="small tinted f-stuck" role="alert">${held.message}</p>`}
    <p class="does">${
      held
        ? html`<${TryAgain} retry=${() => whatIf.ask(answer)} />`
        : html`<button class="btn" type="button" onClick=${() => whatIf.ask(answer)}>${gettext("Decide for other amounts")}</button>`
    }</p>`;
}

function Drag({session, whatIf, told, forkSeq}) {
  const one = whatIf.supposed.value;
  const isOther = whatIf.amount.value !== null;
  const text = amountText(told.resource, one.amount);
  return html`
    <div class="sechead"><h3>${gettext("What if it asked for {text}", {text: html`<span class="mono">${text}</span>`})}</h3>
      <span class="note" aria-live="polite">${isOther ? html`${supposedWords(one)} <b>${gettext("Not what happened.")}</b>` : gettext("as recorded; drag to try another amount")}</span>
      ${isOther && html`<span class="end"><button class="btn" type="button" onClick=${() => whatIf.look(told.asked)}>${gettext("Back to {amount}", {amount: amountText(told.resource, told.asked)})}</button> <${Try} session=${session} told=${told} one=${one} seq=${forkSeq} /></span>`}</div>
    <div class="plot"><${Plot} told=${told} one=${one} />
      <input type="range" data-own-keys aria-keyshortcuts="w" aria-label=${gettext("{resource} that the pod asks for", {resource: told.resource})} aria-valuetext=${text} min="0" max=${told.supposed.length - 1} step="1" value=${told.supposed.indexOf(one)}
        onInput=${(event) => whatIf.look(told.supposed[Number(event.target.value)].amount)} /></div>`;
}

function Try({session, told, one, seq}) {
  const way = trialOf(told, one);
  if (way === null || seq === null) return null;
  return html`<button class="btn primary" type="button" disabled=${!session.mayFork} title=${session.mayFork ? gettext("Fork after event {seq}, before the cycle", {seq: count(seq)}) : NO_FORK}
    onClick=${() => session.commands.tryInFork(way.id, way.commands, seq, way.trial)}>${gettext("Try in a fork")}</button>`;
}

function Plot({told, one}) {
  const drawn = linesOf(told);
  if (drawn.lines.length === 0)
    return html`<p class="small soft">${gettext("No amount leaves two nodes to compare.")}</p>`;
  const {x, y} = scalesOf(told, drawn, BOX);
  const {lowest, highest} = drawn;
  const grid = [...new Set([lowest, Math.round((lowest + highest) / 2), highest])];
  const marks = Array.from(
    {length: MARKS},
    (_, place) => told.supposed[Math.round(((place + 1) * (told.supposed.length - 1)) / MARKS)],
  );
  const best = one.score?.nodes.filter(
    ({node}) => one.score.is_compared && drawn.lines.some(({nodes}) => nodes.includes(node)),
  );
  return html`
    <svg data-picture="What if" viewBox=${`0 0 ${WIDE} ${TALL}`} aria-hidden="true">
      ${grid.map((total) => html`<g key=${total}><line x1=${BOX.left} x2=${BOX.left + BOX.width} y1=${y(total)} y2=${y(total)} class="grid" /><text x=${BOX.left - 6} y=${y(total) + 3} class="last">${total}</text></g>`)}
      ${marks.map(({amount}, place) => html`<text key=${amount} x=${x(amount)} y=${TALL - 2} class=${place === marks.length - 1 ? "last" : "mid"}>${amountText(told.resource, amount)}</text>`)}
      ${drawn.lines.map(
        (
          line,
        ) => html`<g key=${line.nodes[0]} class=${line.isBest ? "first" : ""}><path d=${`M${line.points.map(([amount, total]) => `${x(amount).toFixed(1)} ${y(total).toFixed(1)}`).join("L")}`} class="c" />
        <text x=${x(line.points.at(-1)[0]) + 5} y=${y(line.points.at(-1)[1]) + 3}>${cutName(lineName(line), 40)}</text></g>`,
      )}
      <line x1=${x(one.amount)} x2=${x(one.amount)} y1="4" y2=${TALL - 14} class="at" />
      ${(best ?? []).map(({node, total}) => html`<circle key=${node} cx=${x(one.amount)} cy=${y(total)} r="4" class=${one.tied.includes(node) ? "best" : ""} />`)}
    </svg>`;
}
