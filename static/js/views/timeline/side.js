import {html} from "../../lib/html.js";
import {gettext, sentences} from "../../lib/words.js";
import {pathExtent, pathTitle, share, stepTitle, sumTitle} from "../../model/run/path.js";
import {duration, parseId} from "../../model/shared/format.js";
import {notACause, sumDetail} from "../../model/timeline/summary.js";
import {changesShown, promiseOf, savedWords} from "../../model/timeline/shorter.js";
import {ObjectLink} from "../shared/links.js";
import {TryInFork} from "../why/try_in_fork.js";

/** What the chosen pod waited for, summed by kind; without one, the pods that waited longest. */
export function Side({session, trace}) {
  const id = session.selection.pod.value;
  if (!id)
    return html`<aside class="tlside" aria-label=${gettext("Longest waits")}><${Longest} trace=${trace} /></aside>`;
  const {path, problem} = trace.podPath;
  return html`<aside class="tlside" aria-label=${gettext("The same steps summed by kind")}>
    ${problem.value && html`<section><p class="small tinted f-stuck" role="alert">${problem.value}</p></section>`}
    ${!path.value && !problem.value && html`<section><p class="small mute" role="status">${gettext("Adding up what it waited for…")}</p></section>`}
    ${path.value && html`<${Sums} session=${session} trace=${trace} path=${path.value} />`}</aside>`;
}

/** The heading, in which the name of the pod is not broken. */
function Title({path}) {
  const {name} = parseId(path.pod);
  const [before, ...after] = pathTitle(path).split(name);
  return html`${before}<span class="nowrap">${name}</span>${after.join(name)}`;
}

function Longest({trace}) {
  const longest = trace.answer.value?.longest ?? [];
  return html`
    <section><h2>${gettext("Nothing chosen")}</h2><p class="small soft">${gettext("Choose a pod. Its path comes to the top: what it waited for, and what each wait ended with.")}</p></section>
    ${
      longest.length > 0 &&
      html`<section><h3>${gettext("Waited longest")}</h3><ol class="longest">${longest.map(
        ({pod, waited}) =>
          html`<li key=${pod}><button class="cut" title=${parseId(pod).key} onClick=${() => trace.choose(pod)}>${parseId(pod).key}</button><span class="num">${duration(waited)}</span></li>`,
      )}</ol></section>`
    }`;
}

function Sums({session, trace, path}) {
  if (path.steps.length === 0)
    return html`<section><h2>${parseId(path.pod).name}</h2><p class="small soft">${gettext("It ran already when the run began.")}</p></section>`;
  const row = trace.answer.value?.rows.find(({chosen}) => chosen);
  const aside = notACause(path, row?.sums ?? {});
  return html`
    <section><h2><${Title} path=${path} /></h2>
      <div class="stack" aria-hidden="true">${path.sums.map(
        (each) =>
          html`<i key=${each.name} class=${`f-${each.family}`} style=${`flex-grow:${each.sum}`} title=${`${sumTitle(each.name)} ${duration(each.sum)}`}></i>`,
      )}</div>
      <ol class="segs">${path.sums.map(
        (
          each,
        ) => html`<li key=${each.name} class=${`f-${each.family}`}><button type="button" onClick=${() => trace.showStep(each.name)}>
          <i class="dot"></i><b class="num">${duration(each.sum)}</b><span>${sumTitle(each.name)}<span class="mute">${sumDetail(path, each.name)}</span></span><span class="num pc">${share(each.sum, path)}</span></button></li>`,
      )}</ol>
      <p class="segsum num"><b>${duration(path.to - path.from)}</b><span>${pathExtent(path)}</span></p></section>
    ${aside && html`<section><h3>${gettext("What is not a cause")}</h3><p class="small soft">${aside}</p></section>`}
    <${Shorter} session=${session} trace=${trace} path=${path} />
    ${path.open && html`<section><h3>${gettext("Now")}</h3><p class="small soft">${sentences([gettext("It waits: {step}.", {step: stepTitle(path.steps.at(-1))}), path.steps.at(-1).message])}</p></section>`}
    <section class="small"><${ObjectLink} session=${session} id=${path.pod}>${gettext("Open {name}", {name: parseId(path.pod).name})}<//></section>`;
}

/** Changes that would have made the path shorter, how much each saves, and how that is known. */
function Shorter({session, trace, path}) {
  const changes = changesShown(path, trace.podPath.trials.value);
  if (changes.length === 0) return null;
  return html`
    <section><h3>${gettext("What would have shortened it")}</h3><ul class="would">${changes.map(
      (change) => html`
      <li key=${`${change.name} ${change.objects}`}><span>${change.title}<span class="mute">${savedWords(change)}</span></span>
        ${change.seq !== null && change.commands.length > 0 && html`<${TryInFork} session=${session} id=${path.pod} commands=${change.commands} seq=${change.seq} trial=${promiseOf(change)} />`}</li>`,
    )}</ul></section>`;
}
