import {html} from "../../lib/html.js";
import {gettext, listText} from "../../lib/words.js";
import {pathExtent, pathParts, pathTitle, share, stepTitle, sumTitle} from "../../model/run/path.js";
import {duration, moment} from "../../model/shared/format.js";
import {EventLink} from "../shared/events.js";

/** Percent of the strip; a narrower part has no room for words, which are in the list below. */
const NARROWEST = 6;

/** What the selected pod waited for: a strip of its steps, their sums by name, and the steps one by one. */
export function PathSection({session, podPath}) {
  if (!session.selection.pod.value) {
    return html`<p class="small mute pathhint">${gettext("Select a pod to see what it waited for.")}</p>`;
  }
  const path = podPath.path.value;
  if (podPath.problem.value) return html`<p class="small tinted f-stuck" role="alert">${podPath.problem.value}</p>`;
  if (!path) return html`<p class="small mute pathhint" role="status">${gettext("Adding up what it waited for…")}</p>`;
  return html`
    <section class="sec pathsec" aria-label=${gettext("Critical path")}><div class="sechead"><h2>${pathTitle(path)}</h2>
        <span class="note">${pathExtent(path)}</span></div>
      ${path.steps.length === 0 ? html`<p class="small mute">${gettext("It ran already when the run began.")}</p>` : html`<${Steps} session=${session} path=${path} />`}
    </section>`;
}

function Steps({session, path}) {
  return html`
    <div class="pathstrip" aria-hidden="true">${pathParts(path).map(
      ({step, left, width}) => html`
        <i key=${step.from} class=${`f-${step.family}`} style=${`left:${left}%;width:${width}%`} title=${listText([stepTitle(step), duration(step.to - step.from)])}>
          ${width > NARROWEST && html`<span>${stepTitle(step)} ${duration(step.to - step.from)}</span>`}</i>`,
    )}</div>
    <div class="pathcols">
      <ol class="pathsteps" aria-label=${gettext("Steps in order of time")}>${path.steps.map(
        (step) => html`
        <li key=${step.from} class=${`f-${step.family}`}><span class="dot"></span><b class="num">${duration(step.to - step.from)}</b>
          <span>${stepTitle(step)}${step.message && html`<span class="micro mute cut" title=${step.message}>${step.message}</span>`}</span>
          <span class="micro mute num">${moment(step.from)} → ${step.seq === null ? gettext("now") : html`<${EventLink} session=${session} seq=${step.seq}>${moment(step.to)}<//>`}</span></li>`,
      )}</ol>
      <ul class="pathsums" aria-label=${gettext("Sums by kind, largest first")}>${path.sums.map(
        (each) => html`
        <li key=${each.name} class=${`f-${each.family}`}><span class="dot"></span><b class="num">${duration(each.sum)}</b>
          <span>${sumTitle(each.name)}</span><span class="mute num">${share(each.sum, path)}</span></li>`,
      )}</ul>
    </div>`;
}
