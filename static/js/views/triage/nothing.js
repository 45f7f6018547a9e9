import {html} from "../../lib/html.js";
import {gettext, sentences} from "../../lib/words.js";
import {weakSpots} from "../../model/triage/weak_spots.js";
import {Mark} from "../shared/mark.js";
import {OpenFork} from "./changes.js";

/** Nothing is stuck: what was looked at, what was not, and how to find the next weak spot. */
export function Nothing({session, answer}) {
  const {looked_for: rows = [], instant, questions = []} = answer;
  // Without nodes nothing can be called well: then the headline is the question.
  const isOpen = questions.some((each) => each.startsWith(answer.headline));
  const spots = session.isWaiting ? [] : weakSpots(session.model);
  return html`
    <div class="nothing"><div class="nhead"><${Mark} ...${isOpen ? {name: "half", family: "held"} : {name: "vbound", family: "settled"}} /><div><h1>${isOpen ? gettext("Nothing can be said about pods.") : gettext("Nothing is stuck.")}</h1>
        ${questions.map((each) => html`<p key=${each} class="soft">${each}</p>`)}
        <p class="soft">${sentences([isOpen ? "" : answer.headline, instant && gettext("Read at {time} UTC.", {time: instant.slice(11, 19)})])}</p></div></div>
      <div class="ngrid"><section><h2>${gettext("What was looked at")}</h2><ul class="nchecks">${rows.map(
        ({what, found}) =>
          html`<li key=${what}><${Mark} ...${isAll(found) ? {name: "ok", family: "settled"} : {name: "half", family: "held"}} /><span>${what}</span><span class="num mute">${found}</span></li>`,
      )}</ul><p class="small mute">${gettext("Not looked at: image registries, network policies, what runs inside containers. They are outside the model.")}</p></section>
        <section><h2>${gettext("What would get stuck first?")}</h2><p class="small soft">${gettext("Each is tried in a fork of your cluster. Nothing is touched.")}</p>
          <ul class="nask">${spots.map(({text, about, commands}) => html`<li key=${text}><${OpenFork} session=${session} order=${text} commands=${commands} words=${text} /><span>${about}</span></li>`)}
            <li><a class="btn" href=${session.href("compare")}>${gettext("Compare versions")}</a><span>${gettext("schedule every pod again under other rules")}</span></li></ul></section></div></div>`;
}

/** Whether "11 of 11 are ready" is about all. */
function isAll(found) {
  const [some, all] = found.match(/[\d,]+/g) ?? [];
  return some === all;
}
