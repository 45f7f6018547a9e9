import {html} from "../../lib/html.js";
import {
  CAUSE_LOOK,
  answerFor,
  commandWords,
  fixCommands,
  fixParts,
  isCurrent,
  isPending,
  proof,
  staleWords,
  triedWords,
} from "../../model/pods/diagnosis.js";
import {READ_ONLY} from "../../model/shared/rights.js";
import {Mark} from "../shared/mark.js";
import {Term} from "../shared/term.js";
import {TryInFork} from "./try_in_fork.js";

/** Changes that would make the pod schedulable, tried in forks of the run on demand. */
export function WhatWouldFix({session, id, pod}) {
  if (!isPending(pod)) return null;
  const answer = answerFor(session.why.held.value, id, session.place);
  const asked = answer?.diagnosis ?? null;
  return html`
    <section class="why" aria-label="What would fix it">
      <h3>What would fix it${asked && html`<span>${triedWords(asked)}</span>`}</h3>
      ${asked && html`<${Answer} session=${session} id=${id} diagnosis=${asked} />`}
      ${answer?.status === "loading" && html`<p class="small soft" role="status">${asked ? `${staleWords(asked, session.model.at)} Checking again…` : "Trying changes in forks…"}</p>`}
      ${answer?.status === "failed" && html`<p class="small" role="status">${answer.message}</p>`}
      <${Ask} session=${session} answer=${answer} />
    </section>`;
}

/** The button, unless the answer is current. */
function Ask({session, answer}) {
  const {seq} = session.place;
  if (answer?.status === "loading" || isCurrent(answer, seq)) return null;
  const again = Boolean(answer?.diagnosis);
  return html`
    <p class="small soft ask"><span>${
      again
        ? staleWords(answer.diagnosis, session.model.at)
        : html`Tries changes in <${Term} word="fork">forks<//> of this run, the smallest first: each one alone, then pairs.`
    }</span>
      <button class="btn" aria-keyshortcuts="w" onClick=${() => session.askWhy()}>
        ${again ? "Try again" : "Try changes"} <kbd>w</kbd></button></p>`;
}

function Answer({session, id, diagnosis}) {
  return html`
    <p class="answer">${diagnosis.sentence}</p>
    <ul class="causes small">${diagnosis.causes.map((cause, place) => html`<${Cause} key=${place} cause=${cause} />`)}</ul>
    ${diagnosis.outlook && html`<p class="small soft">${diagnosis.outlook.sentence}</p>`}
    ${
      diagnosis.fixes.length > 0 &&
      html`<div class="fixes">${diagnosis.fixes.map(
        (fix, place) => html`
      <${Fix} key=${fix.kind} session=${session} id=${id} seq=${diagnosis.seq} fix=${fix} first=${place === 0} />`,
      )}</div>`
    }
    ${diagnosis.conclusion && html`<p class="small">${diagnosis.conclusion}</p>`}`;
}

function Cause({cause}) {
  const {mark, family, words} = CAUSE_LOOK[cause.severity];
  const title = [words, cause.plugin, ...cause.reasons, cause.where].filter(Boolean).join("\n");
  return html`
    <li title=${title}><${Mark} name=${mark} family=${family} /><span><span class="vh">${words}: </span>${cause.sentence}
      ${" "}<span class="mute">${cause.plugin}</span>
      ${cause.why && cause.why !== cause.sentence && html`<span class="soft reason">${cause.why}</span>`}
      ${cause.because.length > 0 && html`<${Facts} facts=${cause.because} />`}</span></li>`;
}

/** The fields of objects that make a cause true, behind a line that opens. */
function Facts({facts}) {
  return html`
    <details class="facts"><summary class="micro soft">${facts.length === 1 ? "1 fact" : `${facts.length} facts`}</summary>
      <ul class="micro">${facts.map(({object, field, text}, place) => html`<li key=${place} title=${`${object} ${field}`}>${text}</li>`)}</ul></details>`;
}

/** A fix. "Apply" changes the cluster as it is now, so an answer for an older event offers only a fork. */
function Fix({session, id, seq, fix, first}) {
  const {order, outcome} = fixParts(fix);
  const shown = proof(fix);
  const commands = fixCommands(fix);
  return html`
    <div class="fix"><span><b class="strong">${order}</b>
        <span class="micro soft outcome">${outcome}${fix.note && ` ${fix.note}`}</span>
        <span class="micro state"><${Mark} name=${shown.mark} family=${shown.family} />${shown.words}</span></span>
      <span class="does">${
        !session.playhead.past.value &&
        seq === session.place.seq &&
        html`<button class=${`btn${first ? " primary" : ""}`} disabled=${!session.mayChange}
          title=${session.mayChange ? commands.map(commandWords).join(", then ") : READ_ONLY}
          aria-label=${`Apply: ${order}`} onClick=${() => session.commands.sendAll(commands)}>${commands.length > 1 ? (commands.length === 2 ? "Apply both" : "Apply all") : "Apply"}</button>`
      }
        <${TryInFork} session=${session} id=${id} commands=${commands} order=${order} seq=${seq} expected=${fix} /></span></div>`;
}
