import {html} from "../../lib/html.js";
import {gettext, listParts, listText, ngettext} from "../../lib/words.js";
import {count} from "../../model/shared/format.js";
import {lookNext} from "../../model/triage/look_next.js";
import {heldIds} from "../../model/run/superseded.js";
import {
  age,
  clock,
  heldWords,
  heldOf,
  heldWith,
  minutesBetween,
  objectName,
  pageId,
  splitCause,
  workloadParts,
} from "../../model/triage/words.js";
import {Mark} from "../shared/mark.js";
import {NodeAccount} from "./account.js";
import {Sentence} from "../shared/sentence.js";
import {Superseded} from "../shared/superseded.js";
import {Changes} from "./changes.js";
import {Evidence} from "./evidence.js";

const MOST_WORKLOADS = 20;
const MOST_DOTS = 60;
const SHOWN_SENTENCES = 4;

/** One cause: whom it holds, what was observed and what the model says, and what would help. */
export function Card({session, triage, answer, status, group, isSmall = false}) {
  const {place} = group;
  const [lead, more] = splitCause(group.cause);
  const {number, what} = heldWords(group);
  const hides = triage.hidesEvidence.value;
  return html`
    <article class=${isSmall ? "thing f-stuck" : "cause"} id=${`cause-${place}`} tabindex="-1" aria-labelledby=${`cause-${place}-title`} onFocusIn=${() => (triage.at.value = place)}>
      <div class="cnum"><b class="num">${count(number)}</b> <span>${what}</span></div>
      <div class="cbody"><header><h3 id=${`cause-${place}-title`}><${Sentence} text=${lead} /></h3>
          ${more && html`<p class="small soft cmore"><${Sentence} text=${more} /></p>`}
          <${Because} sentences=${[...(group.because ?? []), ...(group.assumed ?? [])]} />
          <p class="since"><${Since} group=${group} instant=${answer.instant} /><${Behind} session=${session} answer=${answer} group=${group} /></p><${Superseded} session=${session} ids=${heldIds(group)} /></header>
        <${Workloads} session=${session} group=${group} />
        ${!hides && html`<${NodeAccount} group=${group} all=${answer.looked_at.node} /><${Evidence} group=${group} />`}
        <${Changes} session=${session} triage=${triage} group=${group} status=${status} />
        <${LookNext} session=${session} answer=${answer} group=${group} /></div></article>`;
}

/** What is known of the first object that it holds: the first sentences at once, the others on demand. */
function Because({sentences: told}) {
  if (told.length === 0) return null;
  const list = (found) =>
    html`<ul class="small because">${found.map((each) => html`<li key=${each}><${Sentence} text=${each} /></li>`)}</ul>`;
  const rest = told.slice(SHOWN_SENTENCES);
  return html`${list(told.slice(0, SHOWN_SENTENCES))}
    ${rest.length > 0 && html`<details class="small"><summary>${ngettext("{count} more", "{count} more", rest.length)}</summary>${list(rest)}</details>`}`;
}

function Since({group, instant}) {
  const minutes = minutesBetween(group.since, instant);
  if (!group.since) return html`<span>${gettext("since when is not in the files")}</span>`;
  return html`<span>${listParts([gettext("since {time}", {time: html`<time datetime=${group.since}>${clock(group.since, instant)}</time>`}), ...(minutes === null ? [] : [age(minutes)])])}</span>`;
}

/** The object behind it; a link to its page, or to what it is behind as well. */
function Behind({session, answer, group}) {
  const shared = (answer.shared_causes ?? []).findIndex(({groups}) => groups.includes(group.place));
  const id = pageId(group.by);
  const name = id ? objectName(group.by) : group.by;
  return html`<span>${gettext("by {object}", {object: id ? html`<a class="named" href=${session.hrefOf(id)}>${name}</a>` : name})}</span>
    ${shared >= 0 && html`<a class="root" href=${`#shared-${shared}`}><${Mark} name="lost" family="stuck" />${gettext("{object} is behind others as well", {object: objectName(answer.shared_causes[shared].object)})}</a>`}`;
}

function Workloads({session, group}) {
  const {workload_counts: counts, kind} = group;
  if (counts.length === 0) return html`<${Others} group=${group} />`;
  const left = counts.slice(MOST_WORKLOADS);
  const waiting = left.reduce((sum, each) => sum + each.waiting, 0);
  return html`
    <ul class="wls" aria-label=${gettext("Workloads")}>${counts.slice(0, MOST_WORKLOADS).map((each) => html`<${Workload} key=${each.workload} session=${session} counts=${each} kind=${kind} />`)}
      ${left.length > 0 && html`<li><span class="mute">${ngettext("and {count} more", "and {count} more", left.length)}</span><span></span><span class="num">${heldWith(kind, waiting, html`<b>${count(waiting)}</b>`)}</span></li>`}</ul>`;
}

function Workload({session, counts, kind}) {
  const {workload, waiting, running, of} = counts;
  const {kind: title, namespace, name, id} = workloadParts(workload);
  const words = html`<span class="mute">${title} ${namespace && `${namespace}/`}</span><b>${name}</b>`;
  return html`
    <li>${id ? html`<a class="named" href=${session.hrefOf(id)}>${words}</a>` : html`<span>${words}</span>`}
      ${of <= MOST_DOTS ? html`<${Dots} running=${running} waiting=${waiting} rest=${of - running - waiting} />` : html`<span class="wbar" aria-hidden="true"><i style=${`flex:${running}`}></i><i class="w" style=${`flex:${waiting}`}></i><i class="o" style=${`flex:${of - running - waiting}`}></i></span>`}
      <span class="num">${heldOf(kind, waiting, {waiting: html`<b>${count(waiting)}</b>`, all: count(of)})}</span></li>`;
}

/** A square for each pod that runs, a dot for each that this cause holds, a ring for the others. */
function Dots({running, waiting, rest}) {
  const dots = (number, look) =>
    Array.from({length: number}, (_, i) => html`<i key=${`${look}${i}`} class=${look}></i>`);
  return html`<span class="tl" aria-hidden="true">${dots(running, "r")}${dots(waiting, "w")}${dots(rest, "o")}</span>`;
}

/** What a group holds that belongs to no workload. */
function Others({group}) {
  const names = [...group.claims, ...group.namespaces, ...group.objects, ...group.nodes];
  if (names.length === 0) return null;
  const [shown, left] = [names.slice(0, 6), names.length - 6];
  return html`<p class="small soft names">${left > 0 ? ngettext("{names} and {count} more", "{names} and {count} more", left, {names: listText(shown)}) : listText(shown)}</p>`;
}

function LookNext({session, answer, group}) {
  const places = lookNext(group, answer);
  if (places.length === 0) return null;
  return html`<p class="look"><span class="mute">${gettext("Look next")}</span>${places.map(({id, text}) => html`<a key=${text} href=${session.hrefOf(id)}>${text}</a>`)}</p>`;
}
