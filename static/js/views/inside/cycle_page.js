import {useEffect} from "preact/hooks";

import {optional} from "../../lib/dom.js";
import {html} from "../../lib/html.js";
import {gettext, labelled, listText} from "../../lib/words.js";
import {spanOf} from "../../model/inside/cycle.js";
import {heldAfter} from "../../model/inside/cycle_memory.js";
import {bandWords, cycleWords, outcomeOf, sentenceOf} from "../../model/inside/cycle_words.js";
import {amount, count, moment, timeText} from "../../model/shared/format.js";
import {RunPage} from "../run/run_page.js";
import {EventLink} from "../shared/events.js";
import {FilmLink, PodLink} from "../shared/links.js";
import {Icon, Mark} from "../shared/mark.js";
import {Parts} from "./parts.js";
import {StepStage} from "./stages.js";

/** One scheduling cycle: its steps, the one that is shown, the code that runs then, and what is in memory. */
export function InsideSchedulerPage({session, cycle}) {
  return html`<${RunPage} session=${session}><${Body} session=${session} cycle=${cycle} /><//>`;
}

function Body({session, cycle}) {
  const [answer, steps, place] = [cycle.answer.value, cycle.steps.value, cycle.place.value];
  const isShown = place >= 0 && !cycle.isAhead.value;
  return html`
    <main class="inside" id="content">
      <nav class="cycle" aria-label=${gettext("Steps of the cycle")}>
        <${Parts} session=${session} page="inside-scheduler" />
        <${Head} session=${session} cycle=${cycle} answer=${answer} />
        ${isShown ? html`<${Spine} cycle=${cycle} answer=${answer} steps=${steps} place=${place} />` : html`<${EmptySpine} cycle=${cycle} />`}
        <p class="micro mute keysline"><kbd>←</kbd> <kbd>→</kbd> ${gettext("step, {before} {after} cycle, {w} what if", {before: html`<kbd>[</kbd>`, after: html`<kbd>]</kbd>`, w: html`<kbd>w</kbd>`})}</p>
      </nav>
      <section class="stage" aria-label=${gettext("Step")}>${
        isShown
          ? html`<${Stage} session=${session} cycle=${cycle} answer=${answer} steps=${steps} place=${place} />`
          : html`<${Nothing} session=${session} cycle=${cycle} answer=${answer} />`
      }</section>
      <aside class="holds" tabindex="0" aria-label=${gettext("Code and memory")}>${isShown && html`<${Holds} cycle=${cycle} answer=${answer} steps=${steps} place=${place} />`}</aside>
    </main>`;
}

function Head({session, cycle, answer}) {
  const number = answer?.cycle ?? cycle.number.value;
  // Before its cycle nothing is known of a pod's attempt, nor where it goes.
  const isKnown = answer && !cycle.isAhead.value;
  return html`
    <div class="cyclehead"><h1>${number === null ? gettext("Scheduler") : gettext("Cycle {number}", {number: count(number)})}</h1>
      ${isKnown && html`<span class="mute small">${gettext("attempt {attempt}", {attempt: answer.pop.attempt})}</span>`}
      <span class="end"><button class="btn icon plain" type="button" aria-label=${gettext("Cycle before")} aria-keyshortcuts="[" disabled=${number === null || number <= 1} onClick=${() => cycle.turn(-1)}>‹</button>
        <button class="btn icon plain" type="button" aria-label=${gettext("Next cycle")} aria-keyshortcuts="]" disabled=${number === null} onClick=${() => cycle.turn(1)}>›</button></span></div>
    ${
      isKnown &&
      html`<div class="who"><p class="cut"><${PodLink} session=${session} podKey=${answer.pod} /></p>
        <p class="mute">${asksWords(session.model.entities.get(`pod/${answer.pod}`))}</p><p class="mute">${cycleWords(answer)}</p></div>`
    }`;
}

/** What the pod asks for: "1500m CPU, 3 Gi". */
function asksWords(pod) {
  return listText(Object.entries(pod?.requests ?? {}).map(([resource, value]) => amount(resource, value)));
}

/** Grey dots, until the cycle is read. */
function EmptySpine({cycle}) {
  if ((cycle.held.value.status !== "loading" && !cycle.isOpening.value) || cycle.wanted.value === null) return null;
  return html`<ol class="spine" aria-hidden="true">${Array.from({length: 12}, (_, each) => html`<li key=${each} class="ahead"><span class="still"><span class="dot"></span></span></li>`)}</ol>`;
}

const BANDS = {scheduling: gettext("scheduling cycle"), binding: gettext("binding cycle")};

function Spine({cycle, answer, steps, place}) {
  useEffect(() => {
    optional(".spine [aria-current]")?.scrollIntoView({block: "nearest", inline: "center"});
  }, [steps[place].id]);
  return html`
    <ol class="spine">${steps.map(
      (step, each) => html`
      ${
        step.band !== steps[each - 1]?.band &&
        html`<li key=${step.band} class="band"><span>${BANDS[step.band]}</span><span>${bandWords(step.band, spanOf(answer, step.band))}</span></li>`
      }
      <${Stop} key=${step.id} cycle=${cycle} answer=${answer} step=${step} place=${each} shown=${place} at=${timeOf(steps, each)} />`,
    )}</ol>`;
}

/** The time of a step, where it is not that of the one before. */
function timeOf(steps, place) {
  const {at} = steps[place];
  const before = steps.slice(0, place).findLast((step) => step.at !== null);
  return at === null || before?.at === at ? "" : moment(at);
}

function Stop({cycle, answer, step, place, shown, at}) {
  const look = place === shown ? "now" : place < shown && step.state !== "ahead" ? "done" : "ahead";
  const looks = [look, step.isFailure && "failed", (step.state === "off" || step.state === "idle") && "off"];
  const outcome = outcomeOf(step, answer);
  return html`
    <li class=${looks.filter(Boolean).join(" ")}><button type="button" aria-current=${place === shown ? "step" : undefined} disabled=${step.state === "ahead"}
      title=${labelled(step.title, outcome)} onClick=${() => cycle.go(place)}>
      <span class="dot"><${Dot} look=${look} step=${step} /></span>
      <span class="what"><b>${step.title}</b><span class="cut">${outcome}</span></span>
      <span class="at num">${at}</span></button></li>`;
}

function Dot({look, step}) {
  if (look === "ahead") return null;
  if (look === "now") return html`<${Icon} name="run" />`;
  if (step.isFailure) return html`<${Icon} name="no" />`;
  return step.state === "done" ? html`<${Icon} name="ok" />` : null;
}

/** Why there is no cycle to show. */
function Nothing({session, cycle, answer}) {
  const {status, message} = cycle.held.value;
  if (cycle.isAhead.value && !cycle.isOpening.value) {
    const {seq} = cycle.steps.value[0];
    return html`<h2>${gettext("Cycle {cycle} has not begun", {cycle: count(answer.cycle)})}</h2>
      <p class="says">${gettext("It begins after event {seq}, and event {shown} is shown.", {seq: count(seq), shown: count(session.place.seq)})}</p>
      <p class="does"><${EventLink} session=${session} seq=${seq}>${gettext("Show its beginning")}<//> <button class="btn" type="button" onClick=${() => cycle.follow()}>${gettext("Show the newest cycle up to here")}</button></p>`;
  }
  if (cycle.wanted.value === null) {
    return session.isWaiting
      ? html`<p class="says" role="status">${gettext("Reading the state of the run…")}</p>`
      : html`<h2>${gettext("No cycle has run")}</h2><p class="says">${gettext("The first starts when a pod is queued.")}</p>`;
  }
  if (status === "failed") {
    return html`<div role="alert"><h2>${gettext("This cycle cannot be shown")}</h2><p class="says">${message}</p>
      <p class="does"><button class="btn primary" type="button" onClick=${() => cycle.retry()}>${gettext("Compute again")}</button>
        <button class="btn" type="button" onClick=${() => cycle.follow()}>${gettext("Show the newest cycle")}</button></p></div>`;
  }
  const number = cycle.number.value;
  return html`<p class="says" role="status">${number === null ? gettext("Reading the newest cycle…") : gettext("Reading cycle {number}…", {number: count(number)})}</p>`;
}

function Stage({session, cycle, answer, steps, place}) {
  const step = steps[place];
  const next = steps.slice(place + 1).find(({state}) => state !== "ahead");
  return html`
    <header class="stagehead">
      <p class="eyebrow"><span>${gettext("Step {number} of {all}", {number: place + 1, all: steps.length})}</span><${FilmLink} session=${session} cycle=${answer.cycle} pod=${`pod/${answer.pod}`} step=${step.id} /><span class="path mono" title=${step.file}>${gettext("{name}: {text}", {name: fileOf(step.file), text: html`<b>${step.function}</b>`})}</span></p>
      <h2>${step.title}</h2>
      <p class="says" aria-live="polite">${sentenceOf(step, answer)}</p>
      <div class="stepper"><button class="btn" type="button" disabled=${place === 0} onClick=${() => cycle.move(-1)}><${Icon} name="back" />${gettext("Back")}</button>
        <button class="btn primary" type="button" disabled=${!next} onClick=${() => cycle.move(1)}>${next ? gettext("Next: {title}", {title: next.title}) : gettext("End of the cycle")}<${Icon} name="step" /></button></div>
    </header>
    <${StepStage} session=${session} cycle=${cycle} answer=${answer} step=${step} />`;
}

/** The code that runs, and what is in memory; this side keeps its layout. */
function Holds({cycle, answer, steps, place}) {
  const step = steps[place];
  const isLit = step.state === "done";
  const stack = [...step.callers, step];
  return html`
    <h3>${isLit ? gettext("Runs now") : gettext("Would run")} <span class="mute">${answer.version}</span></h3>
    <ol class="stack">${stack.map(
      ({file, function: name}, each) =>
        html`<li key=${each} class=${isLit && each === stack.length - 1 ? "lit" : ""} style=${`--in:${each}`} title=${file}><span class="file">${fileOf(file)}</span><b>${name}()</b></li>`,
    )}</ol>
    <h3>${gettext("What the scheduler holds <span>after this step</span>", {span: (inner) => html`<span class="mute">${inner}</span>`})}</h3>
    ${heldAfter(answer, steps, place).map(
      ([group, rows]) =>
        html`<h4 key=${group}>${group}</h4><dl class="memory">${rows.map(
          ({what, before, after, isChanged}) => html`
        <div key=${what} class=${isChanged ? "changed" : ""}><dt>${what}</dt><dd>${isChanged && html`<s>${before}</s> → `}<b>${after}</b></dd></div>`,
        )}</dl>`,
    )}
    <${Replicas} cycle=${cycle} answer=${answer} />`;
}

const ROLES = {
  leader: ["bound", "settled", gettext("leads")],
  standby: ["expired", "held", gettext("stands by")],
  stopped: ["lost", "stuck", gettext("has stopped")],
};

function Replicas({cycle, answer}) {
  const {seq, found} = cycle.replicas.value ?? {};
  if (!found || seq !== answer.seq) return null;
  return html`
    <h4>${gettext("Replicas")}</h4>
    ${found.replicas.map(({identity, role}) => {
      const [mark, family, words] = ROLES[role];
      return html`<p key=${identity} class="leader small"><${Mark} name=${mark} family=${family} /><span><b>${identity}</b> ${words}</span>
        ${found.replicas.length === 1 && html`<span class="mute micro">${gettext("no standby")}</span>`}</p>`;
    })}
    ${found.lease && html`<p class="micro mute">${gettext("Lease renewed at {renewed}; it runs out at {runs_out}.", {renewed: timeText(found.lease.renewed), runs_out: timeText(found.lease.runs_out)})}</p>`}`;
}

function fileOf(path) {
  return path.slice(path.lastIndexOf("/") + 1);
}
