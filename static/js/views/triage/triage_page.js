import {useEffect, useRef} from "preact/hooks";

import {optional} from "../../lib/dom.js";
import {html} from "../../lib/html.js";
import {gettext, ngettext} from "../../lib/words.js";
import {isLarge, split} from "../../model/triage/answer.js";
import {age, minutesBetween} from "../../model/triage/words.js";
import {Consent} from "../run/consent.js";
import {Notice} from "../run/notice.js";
import {Icon, Mark} from "../shared/mark.js";
import {Card} from "./card.js";
import {Lines} from "./lines.js";
import {Nothing} from "./nothing.js";
import {Overview, Share} from "./overview.js";
import {Plan} from "./plan.js";
import {TryAgain} from "../shared/try_again.js";

/** What is stuck in a cluster as it was brought: causes first, then what was tried for each. */
export function TriagePage({session, triage}) {
  const {status, triage: answer, message} = triage.held.value;
  useChosen(triage);
  return html`
    <${Notice} session=${session} /><${Consent} session=${session} />
    <main class="page triage" aria-busy=${status === "loading" || status === "trying"}>
      ${!answer && html`<${Waiting} triage=${triage} status=${status} message=${message} />`}
      ${answer?.groups.length === 0 && html`<${Nothing} session=${session} answer=${answer} />`}
      ${answer?.groups.length > 0 && html`<${Some} session=${session} triage=${triage} answer=${answer} status=${status} />`}
    </main>`;
}

/** The chosen cause gets the focus once its card is there. */
function useChosen(triage) {
  const place = triage.at.value;
  const shown = useRef(-1);
  useEffect(() => {
    if (place < 0 || place === shown.current) return;
    const card = optional(`#cause-${place}`);
    if (!card) return;
    shown.current = place;
    card.focus({preventScroll: true});
    (card.closest(".crow") ?? card).scrollIntoView({block: "start"});
  });
}

function Waiting({triage, status, message}) {
  if (status !== "failed") {
    return html`<h1>${gettext("Triage")}</h1><p class="small soft" role="status">${gettext("Looking for what is stuck: every pod, claim and node of the files…")}</p>`;
  }
  return html`
    <h1>${gettext("Triage")}</h1><div class="unread" role="alert"><p class="small">${gettext("What is stuck cannot be said. {message}", {message})}</p>
      <p class="does"><${TryAgain} main retry=${() => triage.ask()} /></p></div>`;
}

function Some({session, triage, answer, status}) {
  const {pending, others} = split(answer);
  const large = isLarge(answer);
  const parts = {session, triage, answer, status};
  return html`
    <${Head} triage=${triage} answer=${answer} others=${others} />
    <${Progress} triage=${triage} answer=${answer} status=${status} />
    ${large ? pending.length > 1 && html`<${Share} triage=${triage} pending=${pending} />` : html`<${Overview} answer=${answer} pending=${pending} status=${status} />`}
    <div class=${`tcols${large ? " whole" : ""}`}><div class="tmain">
      ${pending.length > 0 && html`<h2 class="th2">${gettext("Pending pods <span>by what holds them, most pods first</span>", {span: (inner) => html`<span class="note">${inner}</span>`})}</h2>`}
      ${large ? html`<${Lines} ...${parts} groups=${pending} />` : pending.map((group) => html`<${Card} key=${group.place} ...${parts} group=${group} />`)}
      ${others.length > 0 && html`<h2 class="th2">${gettext("Stuck, but not pending <span>what no count of pending pods shows</span>", {span: (inner) => html`<span class="note">${inner}</span>`})}</h2>`}
      ${large ? html`<${Lines} ...${parts} groups=${others} />` : html`<div class="things">${others.map((group) => html`<${Card} key=${group.place} ...${parts} group=${group} isSmall />`)}</div>`}
      </div>
      <${Plan} ...${parts} /></div>`;
}

/** The headline of the command line and of REST, and the search. */
function Head({triage, answer, others}) {
  const find = (event) => {
    if (event.key === "Enter") triage.find(event.target.value);
  };
  return html`
    <div class="thead"><h1>${gettext("{words}.", {words: answer.headline})}${others.length > 0 && others.length < answer.groups.length && html`<span> ${ngettext("{count} of them without a pod that waits for a node.", "{count} of them without a pod that waits for a node.", others.length)}</span>`}</h1>
      <div class="end"><label class="find"><${Icon} name="search" /><input id="find" aria-keyshortcuts="/" placeholder=${gettext("find a pod, claim, node")} aria-label=${gettext("Find the cause of a pod, claim or node")} onKeyDown=${find} /><kbd aria-hidden="true">/</kbd></label>
        <p class="micro f-stuck tinted" role="status">${triage.found.value}</p></div></div>`;
}

/** How far the trials are, and what was looked at. */
function Progress({triage, answer, status}) {
  const {groups, looked_at: seen, instant} = answer;
  const waits = groups.map(({since}) => minutesBetween(since, instant)).filter((each) => each !== null);
  const done = groups.filter((group) => group.isAnswered || group.changes.length > 0 || group.conclusion).length;
  return html`
    <div class="tsub"><span role="status">${
      status === "trying" || status === "loading"
        ? html`<${Mark} name="in-flight" family="working" /><b>${gettext("Trying changes")}</b> <span class="num">${ngettext("{done} of {count} cause", "{done} of {count} causes", groups.length, {done})}</span><progress class="tbar" max=${groups.length} value=${done} aria-hidden="true"></progress>`
        : status === "failed"
          ? html`<${Mark} name="failed" family="stuck" /><b>${gettext("Not all changes were tried.")}</b> ${triage.held.value.message} <${TryAgain} retry=${() => triage.ask()} />`
          : html`<${Mark} name="ok" family="settled" />${gettext("<b>Changes were tried</b> on what the schedulers decide; nothing was played", {b: (inner) => html`<b>${inner}</b>`})}`
    }</span>
      <span class="mute num">${[ngettext("{count} pod", "{count} pods", seen.pod), ngettext("{count} node", "{count} nodes", seen.node)].join(" · ")}</span>
      ${waits.length > 0 && html`<span class="mute">${gettext("longest wait {age}", {age: age(Math.max(...waits))})}</span>`}</div>`;
}
