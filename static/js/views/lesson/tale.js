import {html} from "../../lib/html.js";
import {gettext, labelled} from "../../lib/words.js";
import {mayGoOn, momentShown, progress, tally} from "../../model/lesson/reading.js";
import {parseId} from "../../model/shared/format.js";
import {Mark} from "../shared/mark.js";
import {PlainWords, Words} from "./words.js";

const PAGES = {
  inside: ["inside-scheduler", gettext("Inside")],
  volumes: ["volumes", gettext("Volumes")],
  machines: ["machines", gettext("State machines")],
  timeline: ["timeline", gettext("Timeline")],
  nodes: ["nodes", gettext("Nodes")],
};
const STATES = {
  right: gettext("answered right"),
  wrong: gettext("answered, not right"),
  ask: "asks",
  read: "read",
  ahead: gettext("not read yet"),
};

/** The text of a lesson: its head with the steps, the paragraphs, the question, and the way on. */
export function Tale({reader}) {
  const lesson = reader.lesson.value;
  const {current} = reader;
  return html`
    <section class="tale" aria-label=${gettext("Text of the lesson")}>
      <${Head} reader=${reader} lesson=${lesson} />
      <div class="telling" aria-live="polite">
        <p class="eyebrow">${gettext("Step {number} of {all}", {number: reader.step.value + 1, all: reader.steps.length})}</p>
        <h2>${current.title}</h2>
        ${current.text.map((pieces, i) => html`<p class="para" key=${`${reader.step.value}-${i}`}><${Words} reader=${reader} pieces=${pieces} /></p>`)}
        <${More} reader=${reader} />
        ${current.ask && html`<${Question} reader=${reader} ask=${current.ask} />`}
      </div>
      <${Foot} reader=${reader} />
    </section>`;
}

function Head({reader, lesson}) {
  const {right, of} = tally(reader.steps, reader.answers.value);
  const states = progress(reader.steps, reader.step.value, reader.answers.value, reader.seen);
  return html`
    <header class="talehead">
      <p class="micro mute"><a href="/lessons/">${lesson.course}</a></p>
      <h1>${lesson.title}${of > 0 && html`<span class="tally num">${gettext("{right} of {of} right", {right, of})}</span>`}</h1>
      <nav class="progress" aria-label=${gettext("Steps")}>${reader.steps.map(
        (
          step,
          i,
        ) => html`<button type="button" key=${i} data-state=${states[i]} aria-current=${i === reader.step.value ? "step" : undefined}
          title=${step.title} aria-label=${labelled(gettext("Step {number}, {title}", {number: i + 1, title: step.title}), STATES[states[i]])} onClick=${() => reader.go(i)}>${states[i] === "ask" ? "?" : ""}</button>`,
      )}</nav>
    </header>`;
}

/** The way to another view of the run at this instant. */
function More({reader}) {
  const {page, select} = reader.current;
  const session = reader.session.value;
  const {moments} = reader.lesson.value;
  if (!page || !session || moments === null) return null;
  // The run is on its way to the moment of the step.
  const at = {seq: session.keptSeq.value ?? moments[momentShown(reader.current, reader.answer)]?.seq ?? null};
  const link = (href, words) => html`<p class="elsewhere small"><a href=${href}>${words}</a></p>`;
  // The page of the object that is looked at.
  if (page === "pod")
    return link(
      session.hrefOf(select, at),
      gettext("See this instant on the page of {name}", {name: parseId(select).name}),
    );
  const [address, name] = PAGES[page];
  return link(session.href(address, at), gettext("See this instant on the page {name}", {name}));
}

function Question({reader, ask}) {
  const {answer} = reader;
  const isGiven = answer !== undefined;
  return html`
    <div class="ask" role="group" aria-label=${gettext("Question")}>
      <p class="asked"><b><${Words} reader=${reader} pieces=${ask.question} /></b></p>
      ${!isGiven && html`<p class="small mute">${ask.options.some(({entity}) => entity) ? gettext("Choose on the picture, or here.") : gettext("Choose.")}</p>`}
      <div class="choices">${ask.options.map(
        (
          option,
          i,
        ) => html`<button type="button" key=${i} disabled=${isGiven} class=${lookOf(option, i, answer)} onClick=${() => reader.choose(i)}>
          <kbd>${i + 1}</kbd><span><${PlainWords} pieces=${option.text} /></span>
          ${isGiven && option.right && html`<${Mark} name="ok" family="settled" />`}
          ${isGiven && answer === i && !option.right && html`<${Mark} name="no" family="clock" />`}</button>`,
      )}</div>
      <div class="because" role="status">${isGiven && html`<${Because} reader=${reader} ask=${ask} answer=${answer} />`}</div>
    </div>`;
}

function lookOf(option, i, answer) {
  if (answer === undefined) return "";
  const looks = [option.right && "right", i === answer && "chosen", i === answer && !option.right && "wrong"];
  return looks.filter(Boolean).join(" ");
}

function Because({reader, ask, answer}) {
  const chosen = ask.options[answer];
  const right = ask.options.find((option) => option.right);
  return html`
    <p class=${`verdict ${chosen.right ? "yes" : "not"}`}>${chosen.right ? html`<b>${gettext("Yes.")}</b>` : gettext("<b>Not this time.</b> The answer is: {answer}.", {b: (inner) => html`<b>${inner}</b>`, answer: html`<${PlainWords} pieces=${right.text} />`})}</p>
    ${chosen.why.length > 0 && html`<p><${Words} reader=${reader} pieces=${chosen.why} /></p>`}
    ${ask.because.length > 0 && html`<p><${Words} reader=${reader} pieces=${ask.because} /></p>`}`;
}

function Foot({reader}) {
  const {steps} = reader;
  const at = reader.step.value;
  const isOpen = steps[at].ask && reader.answer === undefined;
  const isLast = at === steps.length - 1;
  return html`
    <footer class="talefoot">
      <button class="btn" type="button" disabled=${at === 0} onClick=${() => reader.back()}>${gettext("Back")}</button>
      <span class="small mute keys"><kbd>1</kbd>–<kbd>9</kbd> ${gettext("answer, {left} {right} turn, {space} plays", {left: html`<kbd>←</kbd>`, right: html`<kbd>→</kbd>`, space: html`<kbd>Space</kbd>`})}</span>
      ${
        isLast && !isOpen
          ? html`<a class="btn primary" href=${reader.after ? `/lessons/${reader.after}/` : "/lessons/"}>${reader.after ? gettext("Next lesson") : gettext("All lessons")}</a>`
          : html`<button class="btn primary" type="button" disabled=${!mayGoOn(steps, at, reader.answers.value)} onClick=${() => reader.forward()}>${isOpen ? gettext("Answer first") : gettext("Go on")}</button>`
      }
    </footer>`;
}
