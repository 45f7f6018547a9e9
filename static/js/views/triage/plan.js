import {html} from "../../lib/html.js";
import {gettext, ngettext, sentences} from "../../lib/words.js";
import {count} from "../../model/shared/format.js";
import {shortChange, togetherCommands} from "../../model/triage/changes.js";
import {objectName} from "../../model/triage/words.js";
import {Mark} from "../shared/mark.js";
import {OpenFork} from "./changes.js";

const MOST_STEPS = 6;

/** Beside the causes: the best changes together, what is behind several causes, what is not counted, the keys. */
export function Plan({session, answer, status}) {
  return html`
    <aside class="plan" aria-label=${gettext("All changes together")}>
      <${Together} session=${session} answer=${answer} status=${status} />
      ${(answer.shared_causes ?? []).map(
        ({object, groups, sentence}, i) => html`
        <section key=${object} class="rootbox" id=${`shared-${i}`}><h3><${Mark} name="lost" family="stuck" /> ${gettext("{object} is behind {some} of {all}", {object: objectName(object), some: groups.length, all: answer.groups.length})}</h3><p class="small soft">${sentence}</p></section>`,
      )}
      <${NotCounted} session=${session} answer=${answer} />
      <section class="keyhelp"><h3>${gettext("Keys")}</h3><dl class="kv kk"><dt><kbd>j</kbd> <kbd>k</kbd></dt><dd>${gettext("next, previous cause")}</dd><dt><kbd>o</kbd></dt><dd>${gettext("to its first fork")}</dd><dt><kbd>e</kbd></dt><dd>${gettext("evidence open or closed")}</dd><dt><kbd>/</kbd></dt><dd>${gettext("find a pod here")}</dd></dl></section>
    </aside>`;
}

function Together({session, answer, status}) {
  const {together} = answer;
  if (!together) {
    if (status !== "trying" && status !== "loading") return null;
    return html`<section><h2>${gettext("All together")}</h2><p class="small soft ptext">${gettext("Changes are put together when each has been tried alone. Answers appear where they belong; no row moves.")}</p></section>`;
  }
  const {changes, places, of, note} = together;
  const commands = togetherCommands(answer);
  return html`
    <section><h2>${ngettext("All {count} together", "All {count} together", changes.length)}</h2><p class="pfig"><b class="num">${count(places)}</b><span>${ngettext("of {count} pod placed", "of {count} pods placed", of)}</span></p>
      <div class="pbar" aria-hidden="true">${changes.map((each) => html`<i key=${each.group} style=${`width:${((100 * each.places) / of).toFixed(1)}%`}></i>`)}</div>
      <ol class="psteps">${changes.slice(0, MOST_STEPS).map((each) => html`<li key=${each.group}><b>${shortChange(each)}</b><span>${ngettext("{count} pod", "{count} pods", each.places)}</span></li>`)}</ol>
      ${changes.length > MOST_STEPS && html`<p class="small mute ptext">${ngettext("and {count} more change", "and {count} more changes", changes.length - MOST_STEPS)}</p>`}
      <p class="small soft ptext">${sentences([gettext("Tried in one trial, in this order."), note])}</p>
      ${commands.length > 0 && html`<div class="pbtn"><${OpenFork} session=${session} order=${ngettext("all {count} changes together", "all {count} changes together", changes.length)} commands=${commands} isPrimary=${places === of} words=${gettext("Open this fork")} /></div>`}
      <p class="micro mute ptext">${gettext("A fork is a copy inside kscope. Your cluster is not touched.")}</p></section>`;
}

function NotCounted({session, answer}) {
  const {not_counted: rows = [], notes} = answer;
  return html`
    <section><h3>${gettext("Not counted as stuck")}</h3><dl class="kv">${rows.map(({what, found}) => html`<dt key=${what}>${what}</dt><dd>${found}</dd>`)}
      <dt>${gettext("Left aside")}</dt><dd><a href=${session.href("first-look")}>${gettext("see what was read")}</a></dd></dl>
      ${notes.map((note) => html`<p key=${note} class="small soft">${note}</p>`)}</section>`;
}
