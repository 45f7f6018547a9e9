import {useState} from "preact/hooks";

import {html} from "../../lib/html.js";
import {capital, gettext, labelled} from "../../lib/words.js";
import {NO_FORK} from "../../model/shared/rights.js";
import {trialState} from "../../model/triage/answer.js";
import {byClass, changeLook, commandsOf, placesAll, proofWords} from "../../model/triage/changes.js";
import {Amounts} from "../shared/fixes.js";
import {Icon, Mark} from "../shared/mark.js";
import {TryAgain} from "../shared/try_again.js";

/** The changes of a group, the best first; those that touch others or lose something closed and counted. */
export function Changes({session, triage, group, status}) {
  const state = trialState(group, status);
  if (state !== "tried") return html`<${NotTried} triage=${triage} group=${group} state=${state} />`;
  const {best, others, smaller, shared, loses} = byClass(group.changes);
  const list = (changes, first = false) =>
    html`<ol>${changes.map((change) => html`<${Change} key=${change.text} session=${session} change=${change} isFirst=${first} />`)}</ol>`;
  return html`
    <section class="fxs" aria-label=${gettext("What would help: {cause}", {cause: group.cause})}>
      ${best && html`<h4>${best.places === null ? gettext("What would help") : gettext("Best change")}</h4>${list([best], true)}`}
      ${others.length > 0 && html`<h4>${gettext("Or")}</h4>${list(others)}`}
      ${smaller.length > 0 && html`<h4>${gettext("Smaller, not enough")}</h4>${list(smaller)}`}
      ${group.changes.length === 0 && html`<p class="small soft">${group.conclusion || gettext("No change is offered for this.")}</p>`}
      ${shared.length > 0 && html`<details class="risky"><summary>${gettext("Touches a shared policy {number}", {number: html`<span class="num">${shared.length}</span>`})}</summary>${list(shared)}</details>`}
      ${loses.length > 0 && html`<details class="risky loses"><summary>${gettext("May lose something {number}", {number: html`<span class="num">${loses.length}</span>`})}</summary>${list(loses)}</details>`}
      ${group.changes.length > 0 && group.conclusion && html`<p class="small soft">${group.conclusion}</p>`}
    </section>`;
}

/** It keeps the height of an answer, so that nothing moves when that comes. */
function NotTried({triage, group, state}) {
  if (state === "waits") {
    return html`<section class="trystate" aria-label=${gettext("What would help: {cause}", {cause: group.cause})}><${Mark} name="in-flight" family="working" /><span><b>${gettext("Changes are being tried")}</b><br /><span class="mute">${gettext("the cause above is already certain")}</span></span></section>`;
  }
  return html`
    <section class="trystate" aria-label=${gettext("What would help: {cause}", {cause: group.cause})}><${Mark} name="failed" family="stuck" /><span><b>${gettext("Not tried")}</b><br /><span class="mute">${gettext("the answer ended before; the cause above stands")}</span></span>
      <${TryAgain} retry=${() => triage.ask()} /></section>`;
}

function Change({session, change, isFirst}) {
  const {mark, family, look} = changeLook(change);
  const {text, note, shared, loses} = change;
  const notes = [loses && gettext("Loses {loses}.", {loses}), shared && sentence(shared), note].filter(Boolean);
  return html`
    <li class=${`fx ${look}`}><${Mark} name=${mark} family=${family} />
      <div><p class="ft"><${Amounts} text=${text} /></p><p class="fp">${proofWords(change)}</p>${notes.map((each) => html`<span key=${each} class="fnote">${each}</span>`)}</div>
      ${commandsOf(change).length > 0 && html`<${OpenFork} session=${session} order=${text} commands=${commandsOf(change)} isPrimary=${isFirst && placesAll(change)} />`}</li>`;
}

function sentence(text) {
  return `${capital(text)}${text.endsWith(".") ? "" : "."}`;
}

/** A button that makes a fork with the change and opens its board. */
export function OpenFork({session, order, commands, isPrimary, words = ""}) {
  const [busy, setBusy] = useState(false);
  const go = async () => {
    setBusy(true);
    await session.commands.openFork(order, commands);
    setBusy(false);
  };
  return html`<button class=${`btn${isPrimary ? " primary" : ""}`} disabled=${busy || !session.mayFork} title=${session.mayFork ? undefined : NO_FORK} aria-label=${labelled(words || gettext("Open fork"), order)} onClick=${go}>
    ${words && html`<${Icon} name="fork" />`}${busy ? gettext("Forking…") : words || gettext("Open fork")}</button>`;
}
