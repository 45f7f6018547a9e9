import {html} from "../../lib/html.js";
import {gettext, ngettext} from "../../lib/words.js";
import {count} from "../../model/shared/format.js";
import {trialState} from "../../model/triage/answer.js";
import {changeLook, firstChange, shortChange} from "../../model/triage/changes.js";
import {onset} from "../../model/triage/onset.js";
import {Mark} from "../shared/mark.js";
import {Sentence} from "../shared/sentence.js";

const percent = (part) => `${(part * 100).toFixed(1)}%`;

/** How many pods each cause holds with its best change, and when each began. */
export function Overview({answer, pending, status}) {
  const held = pending.reduce((sum, {pods}) => sum + pods.length, 0);
  return html`
    <div class=${`over${pending.length === 0 || !onset(answer) ? " one" : ""}`}>
      ${
        pending.length > 0 &&
        html`<figure class="strip"><figcaption><b>${ngettext("What holds the {count} pending pod", "What holds the {count} pending pods", held)}</b> <span class="mute">${gettext("and the best change that was tried for each")}</span></figcaption>
        <div class=${`sgroups${pending.length > 4 ? " many" : ""}`} style=${pending.length > 4 ? undefined : `grid-template-columns:${columns(pending)}`}>${pending.map((group) => html`<${Held} key=${group.place} group=${group} status=${status} />`)}</div></figure>`
      }
      <${Onset} answer=${answer} /></div>`;
}

/** A cause that holds more gets more room for its dots. */
function columns(pending) {
  return pending.map(({pods}) => `${Math.min(12, Math.max(7, pods.length / 2))}fr`).join(" ");
}

function Held({group, status}) {
  return html`
    <a href=${`#cause-${group.place}`} class="sg"><span class="sgh"><b class="num">${count(group.pods.length)}</b> <span><${Sentence} text=${group.short} /></span></span>
      <span class="tl big" aria-hidden="true">${group.pods.map((key) => html`<i key=${key}></i>`)}</span>
      <${BestLine} group=${group} status=${status} /></a>`;
}

/** The best change of a group on one line, or how far its trials are. */
export function BestLine({group, status}) {
  const state = trialState(group, status);
  if (state !== "tried") {
    const [mark, family, words] =
      state === "waits"
        ? ["in-flight", "working", gettext("changes are being tried")]
        : ["failed", "stuck", gettext("not tried")];
    return html`<span class="sgp"><${Mark} name=${mark} family=${family} /><span>${words}</span></span>`;
  }
  const change = firstChange(group);
  if (!change)
    return html`<span class="sgp"><${Mark} name="outside" family="held" /><span>${gettext("no change is offered")}</span></span>`;
  const {mark, family, look} = changeLook(change);
  return html`
    <span class=${`sgp ${look}`}><${Mark} name=${mark} family=${family} /><span title=${change.text}>${
      change.places === null
        ? html`<${Sentence} text=${shortChange(change)} />`
        : gettext("{name}: {text}", {
            name: html`<${Sentence} text=${shortChange(change)} />`,
            text: html`<b class="nowrap">${gettext("{places} of {of}", {places: count(change.places), of: count(change.of)})}</b>`,
          })
    }</span></span>`;
}

/** One bar for all causes of a large cluster. */
export function Share({triage, pending}) {
  const [shown, rest] = [pending.slice(0, 5), pending.slice(5)];
  const left = rest.reduce((sum, {pods}) => sum + pods.length, 0);
  return html`
    <nav class="share" aria-label=${gettext("Pending pods by cause")}>${shown.map(
      ({place, pods, short}) => html`
      <a key=${place} href=${`#cause-${place}`} title=${short} style=${`flex:${pods.length}`} onClick=${() => triage.choose(place)}><i></i><span class="num">${count(pods.length)}</span><span class="vh"> ${ngettext("pod: {short}", "pods: {short}", pods.length, {short})}</span></a>`,
    )}${rest.length > 0 && html`<a class="rest" href=${`#cause-${rest[0].place}`} style=${`flex:${left}`}><i></i><span class="num">${ngettext("{count} more", "{count} more", rest.length)}</span></a>`}</nav>`;
}

/** The start of the oldest wait of each group, beside what happened about then. */
function Onset({answer}) {
  const found = onset(answer);
  const caption = html`<figcaption><b>${gettext("When each began")}</b> <span class="mute">${found ? gettext("and what the files say happened then") : ""}</span></figcaption>`;
  if (!found) {
    return html`<figure class="onset">${caption}<p class="small soft">${gettext("The files name no times: they have no Events and no conditions with times.")}</p></figure>`;
  }
  const {rows, marks, ticks} = found;
  const height = `height:${rows.length * 16 + 20}px`;
  return html`
    <figure class="onset">${caption}
      ${
        marks.length > 0 &&
        html`<div class="omarks">${marks.map(
          ({left, label, title, turned}) =>
            html`<span key=${title} class=${turned ? "l" : ""} style=${`left:${percent(left)}`} title=${title}><i style=${height}></i>${label}<span class="vh">${label ? "" : title}</span></span>`,
        )}</div>`
      }
      ${rows.map(
        ({place, label, left, age, isHeld}) => html`
        <a key=${place} class="orow" href=${`#cause-${place}`}><span title=${label}>${label}</span><span class="otrack"><i class=${isHeld ? "h" : ""} style=${`left:${percent(left)}`}></i></span><span class="num">${age}</span></a>`,
      )}
      <div class="oaxis num" aria-hidden="true">${ticks.map(({left, text}) => html`<span key=${left} style=${`left:${percent(left)}`}>${text}</span>`)}</div></figure>`;
}
