import {useEffect} from "preact/hooks";

import {optional} from "../../lib/dom.js";
import {html} from "../../lib/html.js";
import {gettext, listText, sentences} from "../../lib/words.js";
import {bandsOf, homeOf, nameOf, whoOf} from "../../model/inside/steps.js";
import {repeatedWords, titleOf, wordsOf} from "../../model/inside/words.js";
import {accessModes, bytes, count, moment, timeText} from "../../model/shared/format.js";
import {RunPage} from "../run/run_page.js";
import {ObjectLink} from "../shared/links.js";
import {Icon} from "../shared/mark.js";
import {Binding, BindingMemory} from "./binding.js";
import {Kubelet, KubeletMemory} from "./kubelet.js";
import {Parts} from "./parts.js";
import {TryAgain} from "../shared/try_again.js";

/** What looks after a claim, a pod's volumes or a node's: the steps, the one that is shown, what is in memory. */
export function InsideVolumesPage({session, inside}) {
  return html`<${RunPage} session=${session}><${Body} session=${session} inside=${inside} /><//>`;
}

function Body({session, inside}) {
  const held = inside.held.value;
  const steps = inside.steps.value;
  const place = inside.place.value;
  return html`
    <main class="inside vols" id="content">
      <nav class="cycle" aria-label=${gettext("Syncs and ticks")}>
        <${Parts} session=${session} page="inside-volumes" />
        <${About} session=${session} inside=${inside} />
        <${Spine} inside=${inside} steps=${steps} place=${place} />
        ${steps.length > 0 && html`<p class="micro mute keysline"><kbd>←</kbd> <kbd>→</kbd> ${gettext("next sync or tick that did something, {p} pod, {v} claim", {p: html`<kbd>p</kbd>`, v: html`<kbd>v</kbd>`})}</p>`}
      </nav>
      <section class="stage" aria-label=${gettext("Step")}>${
        place < 0
          ? html`<${Nothing} session=${session} inside=${inside} held=${held} />`
          : html`<${Stage} session=${session} inside=${inside} step=${steps[place]} place=${place} />`
      }</section>
      <aside class="holds" tabindex="0" aria-label=${gettext("Code and memory")}>${place >= 0 && html`<${Holds} step=${steps[place]} />`}</aside>
    </main>`;
}

/** Which object it is about, and others to turn to. */
function About({session, inside}) {
  const about = inside.about.value;
  if (about === null) return null;
  const answer = inside.held.value?.answer;
  const [kind] = about.split("/", 1);
  const others = [
    ...(answer?.claims ?? []).map((key) => `claim/${key}`),
    ...(answer?.pods ?? []).map((key) => `pod/${key}`),
    ...[...new Set((answer?.steps ?? []).map(({entity}) => entity).filter((id) => id.startsWith("node/")))],
  ].filter((id) => id !== about && (!session.place.past || session.model.entities.has(id)));
  return html`
    <div class="who"><h1 class="cut" title=${nameOf(about)}><span class="mute">${kind} </span><${ObjectLink} session=${session} id=${about}>${nameOf(about)}<//></h1>
      <p class="mute">${aboutWords(session.model.entities.get(about), kind)}</p>
      ${
        others.length > 0 &&
        html`<ul class="turns" aria-label=${gettext("Inside of others")}>${others
          .slice(0, 6)
          .map(
            (id) =>
              html`<li key=${id}><button class="link cut" title=${id} onClick=${() => inside.turnTo(id)}>${id.split("/", 1)[0]} ${nameOf(id)}</button></li>`,
          )}</ul>`
      }
    </div>`;
}

function aboutWords(object, kind) {
  if (!object) return "";
  if (kind === "claim") {
    return listText(
      [
        bytes(object.request ?? 0),
        accessModes(object.modes),
        object.class ? gettext("class {class}", {class: object.class}) : gettext("no class"),
      ].filter(Boolean),
    );
  }
  if (kind === "pod") return object.node ? gettext("on {node}", {node: object.node}) : gettext("on no node yet");
  return "";
}

/** The list of the steps. Of those ahead of the one that is shown it says only what runs, and when. */
function Spine({inside, steps, place}) {
  useEffect(() => {
    optional(".spine [aria-current]")?.scrollIntoView({block: "nearest", inline: "center"});
  }, [steps[place]?.id]);
  const held = inside.held.value;
  if (steps.length === 0) {
    return held?.status === "loading"
      ? html`<ol class="spine" aria-hidden="true">${[1, 2, 3, 4, 5].map((each) => html`<li key=${each} class="ahead"><span class="still"><span class="dot"></span></span></li>`)}</ol>`
      : null;
  }
  const {left_out: leftOut, from_seq: from} = held?.answer ?? {};
  return html`
    ${(leftOut > 0 || from > 0) && html`<p class="who micro mute">${earlierWords(leftOut, from)}</p>`}
    <ol class="spine">${bandsOf(steps).map(
      ({key, title, node, steps: own}) => html`
      <li key=${`${key}${own[0].place}`} class="band"><span>${title}</span><span class="cut" title=${own[0].place > place ? undefined : node}>${own[0].place > place ? "" : node}</span></li>
      ${own.map(({step, place: each}) => html`<${Stop} key=${step.id} inside=${inside} step=${step} place=${each} shown=${place} />`)}`,
    )}</ol>`;
}

function earlierWords(leftOut, from) {
  if (leftOut > 0) return gettext("{leftOut} earlier steps are not listed.", {leftOut: count(leftOut)});
  return gettext("Played again from event {from} on.", {from: count(from)});
}

function Stop({inside, step, place, shown}) {
  const isAhead = place > shown;
  const look = isAhead ? "ahead" : place < shown ? "done" : "now";
  const {title, outcome} = isAhead ? {title: titleOf(step), outcome: ""} : wordsOf(step);
  const isFailed = !isAhead && step.error !== "";
  return html`
    <li class=${isFailed ? `${look} failed` : look}><button type="button" aria-current=${place === shown ? "step" : undefined} title=${`${title} ${outcome}`.trim()} onClick=${() => inside.go(place)}>
      <span class="dot">${dotOf(look, isFailed)}</span>
      <span class="what"><b>${title}</b><span>${outcome}${!isAhead && step.repeated > 0 && ` ×${step.repeated + 1}`}</span></span>
      <span class="at num">${moment(step.at)}</span></button></li>`;
}

function dotOf(look, failed) {
  if (look === "ahead") return null;
  return html`<${Icon} name=${look === "now" ? "run" : failed ? "no" : "ok"} />`;
}

/** Why there is no step to show. */
function Nothing({session, inside, held}) {
  const about = inside.about.value;
  if (about === null) {
    return html`<h2>${gettext("Inside")}</h2><p class="says">${
      session.isWaiting
        ? gettext("Reading the state of the run…")
        : gettext("This cluster has no claim. Open a pod or a node, and its Inside.")
    }</p>`;
  }
  if (held?.status === "failed") {
    return html`<div role="alert"><h2>${gettext("Inside {about}", {about: nameOf(about)})}</h2><p class="says">${held.message}</p>
      <p class="does"><${TryAgain} main retry=${() => inside.retry()} /></p></div>`;
  }
  if (held?.status !== "ready") {
    return html`<div role="status"><h2>${gettext("Inside {about}", {about: nameOf(about)})}</h2><p class="says">${gettext("Replaying the run, to read what its components did…")}</p></div>`;
  }
  const [first] = inside.steps.value;
  return html`<h2>${gettext("Inside {about}", {about: nameOf(about)})}</h2><p class="says">${
    first
      ? gettext("Nothing has been done about it yet. The first step is at {at}.", {at: timeText(first.at)})
      : gettext("Nothing has been done about it yet. Syncs and ticks that do something are listed here.")
  }</p>
    ${first && html`<div class="stepper"><${NextStep} inside=${inside} place=${-1} /></div>`}`;
}

function NextStep({inside, place}) {
  const isLast = place === inside.steps.value.length - 1;
  return html`<button class="btn primary" type="button" disabled=${isLast} onClick=${() => inside.move(1)}>${gettext("Next")}<${Icon} name="step" /></button>`;
}

function Stage({session, inside, step, place}) {
  const {title, outcome, sentence} = wordsOf(step);
  const inner = step.stack.at(-1);
  return html`
    <header class="stagehead">
      <p class="eyebrow"><span>${whoOf(step)}</span><span class="path mono" title=${inner?.file}>${gettext("{name}: {text}", {name: fileOf(inner?.file ?? ""), text: html`<b>${inner?.function}</b>`})}</span></p>
      <h2>${title} <span class="mute">${outcome}</span></h2>
      <p class="says" aria-live="polite">${sentences([sentence, step.queued_again && gettext("It is queued again, after a delay that doubles."), repeatedWords(step)])}</p>
      ${step.error !== "" && html`<p class="small tinted f-stuck said">${step.error}</p>`}
      <div class="stepper"><button class="btn" type="button" disabled=${place === 0} onClick=${() => inside.move(-1)}><${Icon} name="back" />${gettext("Back")}</button>
        <${NextStep} inside=${inside} place=${place} /></div>
    </header>
    ${
      step.tick
        ? html`<${Kubelet} inside=${inside} step=${step} />`
        : html`<${Binding} session=${session} inside=${inside} step=${step} place=${place} />`
    }`;
}

/** The code that runs, and what is in memory; this side keeps its layout. */
function Holds({step}) {
  return html`
    <h3>${gettext("Runs now {home}", {home: html`<span class="mute">${homeOf(step)}</span>`})}</h3>
    <ol class="stack">${step.stack.map(
      ({file, function: name}, place) => html`
      <li key=${place} class=${place === step.stack.length - 1 ? "lit" : ""} style=${`--in:${place}`} title=${file}><span class="file">${fileOf(file)}</span><b>${name}()</b></li>`,
    )}</ol>
    ${step.tick ? html`<${KubeletMemory} step=${step} />` : html`<${BindingMemory} step=${step} />`}`;
}

function fileOf(path) {
  return path.slice(path.lastIndexOf("/") + 1);
}
