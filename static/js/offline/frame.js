import {html} from "../lib/html.js";
import {gettext, listText, ngettext} from "../lib/words.js";
import {pageHref} from "../model/run/place.js";
import {count} from "../model/shared/format.js";
import {Icon} from "../views/shared/mark.js";
import {tabsOf} from "./pages.js";

/** Of the program, in every language. */
const NAME = "kscope";

/** What can be left out of a file, by the names that the exports have for it. */
const PARTS = {
  evidence: gettext("the evidence of scheduling attempts"),
  why: gettext("the answers why"),
  data: gettext("the evidence of events"),
  inside: gettext("what went on inside"),
};

/** The bar above every page: the run, the menu, and what the file is. */
export function TopBar({run, heading, tab}) {
  return html`
    <a class="brand" href="#/"><${Cube} />${NAME}</a>
    <div class="runname"><b class="cut" title=${run.name}>${run.name}</b></div>
    <div class="meta"><span class="badge" title=${gettext("Kubernetes version that this run simulates")}>${run.profile}</span>
      <span class="opt">${gettext("seed {seed}", {seed: html`<b>${String(run.seed)}</b>`})}</span></div>
    <nav class="tabs" aria-label=${gettext("Run")}>${tabsOf(run).map(
      ([key, words]) =>
        html`<a key=${key} data-page=${key} href=${pageHref(run.id, key)} aria-current=${key === tab ? "page" : undefined}>${words}${key === "triage" && html` <span class="tcount num" title=${gettext("Causes that hold something up")} hidden=${!run.stuck}>${run.stuck || ""}</span>`}</a>`,
    )}</nav>
    <div class="end"><span class="conn" id="connection" role="status" data-state="open"><i></i><span>${gettext("Recorded")}</span></span>
      <${About} run=${run} heading=${heading} />
      <button class="btn icon plain" id="theme" type="button" aria-label=${gettext("Switch between light and dark")}><${Icon} name="sun" /></button></div>`;
}

/** What is in the file, and what is not. */
function About({run, heading}) {
  const {written_by: writer, left_out: left, base, unanswered} = heading;
  return html`
    <details class="menu aboutfile"><summary class="btn">${gettext("This file")}</summary>
      <div class="menubody small">
        <p>${ngettext(
          "It holds {count} event of the run, with what pages draw of it. It needs no network, and sends nothing.",
          "It holds {count} events of the run, with what pages draw of them. It needs no network, and sends nothing.",
          run.head - base,
        )}</p>
        <p>${ngettext(
          "It holds the inside of {held} of {count} scheduling cycle.",
          "It holds the inside of {held} of {count} scheduling cycles.",
          heading.cycles.of,
          {held: count(heading.cycles.held.length)},
        )}</p>
        <p>${gettext("It has no engine. To ask about another instant, to try a change or to fork, open the run in kscope.")}</p>
        ${base > 0 && html`<p>${gettext("It begins after event {seq}.", {seq: count(base)})}</p>`}
        ${left.length > 0 && html`<p>${gettext("Left out: {parts}.", {parts: listText(left.map((name) => PARTS[name]))})}</p>`}
        ${
          unanswered > 0 &&
          html`<p>${ngettext(
            "{count} object waits at its end without a stored answer why.",
            "{count} objects wait at its end without a stored answer why.",
            unanswered,
          )}</p>`
        }
        <p class="mute">${gettext("Written by {writer}.", {writer})}</p></div></details>`;
}

/** In the place of a page that the file does not have. */
export function Elsewhere({name}) {
  return html`
    <div class="pagehead"><h1>${name || gettext("This page is not in the file.")}</h1></div>
    <p class="soft">${
      name
        ? gettext("{name} takes an engine, which this file does not have. Open the run in kscope to see it.", {name})
        : gettext("The address names a page that there is not.")
    }</p>
    <p class="does"><button class="btn primary" onClick=${() => history.back()}>${gettext("Back")}</button><a class="btn" href="#/">${gettext("Board")}</a></p>`;
}

function Cube() {
  return html`<svg viewBox="0 0 18 18" aria-hidden="true"><path d="M9 1.5 15.5 5.25v7.5L9 16.5l-6.5-3.75v-7.5z" fill="none" stroke="currentColor" stroke-width="1.4" /><path d="M9 1.5v15M2.5 5.25l13 7.5M15.5 5.25l-13 7.5" stroke="currentColor" stroke-width="1" opacity=".55" /><path d="M9 9V1.5l6.5 3.75z" fill="currentColor" /></svg>`;
}
