import {optional} from "../../lib/dom.js";
import {html} from "../../lib/html.js";
import {gettext, sentences} from "../../lib/words.js";
import {READ_ONLY} from "../../model/shared/rights.js";
import {
  answerFor,
  causeLook,
  causesBeside,
  commandWords,
  fixCommands,
  fixParts,
  isCurrent,
  isOfAskedKind,
  isUnderWay,
  proof,
  staleWords,
  triedWords,
} from "../../model/why/answer.js";
import {quotasIn} from "../../model/why/facts.js";
import {promiseOf} from "../../model/why/trial.js";
import {Mark} from "../shared/mark.js";
import {Sentence} from "../shared/sentence.js";
import {Term} from "../shared/term.js";
import {Facts} from "./facts.js";
import {Observed} from "./observed.js";
import {Quotas} from "./quotas.js";
import {TryInFork} from "./try_in_fork.js";

/** The facts of the first cause are shown at once if there are no more than this. */
const OPENED = 5;

/**
 * Why an object is as it is: its causes, the fields behind them, and changes that would help, tried in forks of
 * the run. Asked on demand, at the event shown. `level` is the level of its heading.
 */
export function Why({session, id, level = "h3"}) {
  if (!isOfAskedKind(id)) return null;
  const answer = answerFor(session.why.held.value, id, session.place);
  const diagnosis = answer?.diagnosis ?? null;
  return html`
    <section class="why" aria-labelledby="why">
      <div class="whyhead"><${level} id="why" tabindex="-1">${gettext("Why, and what would fix it")}<//>${diagnosis && html`<span class="note">${triedWords(diagnosis)}</span>`}</div>
      <div role="status">${diagnosis && html`<p class="sentence"><${Sentence} text=${diagnosis.sentence} /></p>`}
        ${answer?.status === "loading" && html`<p class="small soft">${diagnosis ? sentences([staleWords(diagnosis, session.model.at), gettext("Asking again…")]) : gettext("Looking for causes…")}</p>`}</div>
      ${diagnosis && html`<${Answer} session=${session} id=${id} diagnosis=${diagnosis} isPartial=${answer.status === "trying"} />`}
      <div role="status">${answer?.status === "trying" && html`<p class="small soft">${gettext("Looking for what would help: changes are tried in forks…")}</p>`}</div>
      ${answer?.status === "failed" && html`<p class="small tinted f-stuck" role="alert">${answer.message}</p>`}
      ${session.isRecorded ? html`<${Recorded} session=${session} id=${id} answer=${answer} />` : html`<${Ask} session=${session} answer=${answer} />`}
    </section>`;
}

/** In a file, which holds some answers and cannot ask: for what there is one, and where. */
function Recorded({session, id, answer}) {
  if (answer) return null;
  const isAnswered = session.run.value.answered?.includes(id);
  const ask = () => session.playhead.jumpToNewest({isJump: true});
  return isAnswered
    ? html`
    <p class="small soft ask"><span>${gettext("The file holds the answer for the end of the run. An answer for this event takes an engine: open the run in kscope.")}</span>
      <button class="btn" onClick=${ask}>${gettext("Go to the end")}</button></p>`
    : html`<p class="small soft ask"><span>${gettext("The file holds the answers for what waited at its end. Asking about this object takes an engine: open the run in kscope.")}</span></p>`;
}

/** The button, unless the answer is current. */
function Ask({session, answer}) {
  const {seq} = session.place;
  if (isUnderWay(answer) || isCurrent(answer, seq)) return null;
  const again = Boolean(answer?.diagnosis);
  const isOlder = again && answer.diagnosis.seq !== seq;
  const ask = () => {
    session.askWhy();
    // The button goes away while the question is answered.
    optional("#why")?.focus();
  };
  return html`
    <p class="small soft ask"><span>${
      isOlder
        ? staleWords(answer.diagnosis, session.model.at)
        : answer?.status !== "failed" &&
          html`${gettext("Names the causes, and tries changes in <term>forks</term> of this run, the smallest first.", {term: (inner) => html`<${Term} word="fork">${inner}<//>`})}`
    }</span>
      <button class="btn" aria-keyshortcuts="w" onClick=${ask}>
        ${again || answer ? gettext("Try again") : gettext("Ask why")} <kbd>w</kbd></button></p>`;
}

/** `isPartial` is whether more fixes may come. */
function Answer({session, id, diagnosis, isPartial}) {
  const {causes, outlook, fixes, conclusion, seq, assumed = []} = diagnosis;
  const listed = causesBeside(diagnosis);
  return html`
    <${Observed} diagnosis=${diagnosis} />
    ${
      listed.length > 0 &&
      html`<ul class="causes small">${listed.map((cause, place) => html`<${Cause} key=${place} session=${session} cause=${cause} lead=${diagnosis.sentence} first=${place === 0} seq=${seq} />`)}</ul>`
    }
    <${Quotas} session=${session} ids=${quotasIn(diagnosis)} />
    ${outlook && html`<p class="small soft outlook">${outlook.sentence}</p>`}
    ${
      fixes.length > 0 &&
      html`<div class="fixes">${fixes.map(
        (fix, place) => html`
      <${Fix} key=${fix.text} session=${session} id=${id} seq=${seq} fix=${fix} first=${place === 0} />`,
      )}</div>`
    }
    ${conclusion && html`<p class="small">${conclusion}</p>`}
    ${assumed.length > 0 && html`<ul class="small because">${assumed.map((each) => html`<li key=${each}>${each}</li>`)}</ul>`}
    ${causes.length > 0 && fixes.length === 0 && !conclusion && !isPartial && html`<p class="small soft">${gettext("No change is offered for this.")}</p>`}`;
}

/** What is done first, and what after it. */
function thenText([first, ...others]) {
  return others.reduce((before, then) => gettext("{before}, then {then}", {before, then}), first);
}

function Cause({session, cause, lead, first, seq}) {
  const {mark, family, words} = causeLook(cause);
  const {plugin, reasons, where, sentence, why, because} = cause;
  const title = [words, plugin, ...reasons, where].filter(Boolean).join("\n");
  const isLead = sentence === lead;
  return html`
    <li title=${title}><${Mark} name=${mark} family=${family} /><span><span class="vh">${words} </span>${!isLead && html`<${Sentence} text=${sentence} />`}
      ${" "}<span class="mute">${plugin}</span>
      ${why && why !== sentence && html`<span class="soft reason">${why}</span>`}
      ${because.length > 0 && html`<${Facts} session=${session} facts=${because} said=${[sentence, why]} isOpen=${first && because.length <= OPENED} seq=${seq} />`}</span></li>`;
}

/** A fix. "Apply" changes the cluster as it is now, so an answer for an older event offers only a fork. */
function Fix({session, id, seq, fix, first}) {
  const {order, outcome} = fixParts(fix);
  const shown = proof(fix);
  const commands = fixCommands(fix);
  const trial = {order, node: fix.node ?? "", at: fix.at ?? null, outcome: fix.node ? "" : promiseOf(outcome)};
  return html`
    <div class="fix"><span><b class="strong">${order}</b>
        <span class="micro soft outcome">${outcome}${fix.note && ` ${fix.note}`}</span>
        <span class="micro state"><${Mark} name=${shown.mark} family=${shown.family} />${shown.words}</span></span>
      ${
        commands.length > 0 &&
        html`<span class="does">${
          !session.playhead.past.value &&
          seq === session.place.seq &&
          html`<button class=${`btn${first ? " primary" : ""}`} disabled=${!session.mayChange}
          title=${session.mayChange ? thenText(commands.map(commandWords)) : READ_ONLY}
          aria-label=${gettext("Apply: {order}", {order})} onClick=${() => session.commands.sendAll(commands)}>${commands.length > 1 ? (commands.length === 2 ? gettext("Apply both") : gettext("Apply all")) : gettext("Apply")}</button>`
        }
        <${TryInFork} session=${session} id=${id} commands=${commands} seq=${seq} trial=${trial} /></span>`
      }</div>`;
}
