import {html} from "../../lib/html.js";
import {gettext, listParts, ngettext} from "../../lib/words.js";
import {NOTHING, attachedState, deviceState, mountStates, nextStep} from "../../model/health/node_volumes.js";
import {count, timeText} from "../../model/shared/format.js";
import {TERMINATING, holdWords, isTerminating} from "../../model/shared/terminating.js";
import {PodLink} from "../shared/links.js";
import {Mark, Name} from "../shared/mark.js";

const ROWS = 100;
const SIGNS = [
  ["=", "equal"],
  ["+", gettext("desired, not actual")],
  ["−", gettext("actual, not desired")],
];

/** The desired and the actual state of world by volume, and the reconciler's next step. */
export function StateOfWorld({session, name, rows}) {
  const differ = rows.filter(({sign}) => sign !== "=").length;
  const wanted = rows.filter(({desired}) => desired.length > 0).length;
  return html`
    <section class="world" aria-label=${gettext("State of world")}>
      <div class="sechead"><h2>${gettext("State of world")}</h2><span class="note">${differWords(rows.length, differ)}</span>
        ${rows.length > 0 && html`<ul class="legend end">${SIGNS.map(([sign, words]) => html`<li key=${sign}><b class="mono">${sign}</b>${words}</li>`)}</ul>`}</div>
      ${
        rows.length === 0
          ? html`<p class="small mute">${gettext("Neither the kubelet nor the attach/detach controller has a volume for this node.")}</p>`
          : html`<div class="scroll-x" tabindex="0" role="region" aria-label=${gettext("State of world, table")}>
            <table class="dsw"><caption class="vh">${gettext("Desired and actual state of world of {name}", {name})}</caption>
              <colgroup><col style="width:184px" /><col style="width:176px" /><col style="width:84px" /><col style="width:44px" /><col style="width:164px" /><col style="width:164px" /><col style="width:196px" /><col /></colgroup>
              <thead><tr><td></td><th colspan="2" scope="colgroup">${gettext("Desired")}<span>${ngettext("{count} volume", "{count} volumes", wanted)}</span></th><td></td>
                  <th colspan="3" scope="colgroup">${gettext("Actual")}<span>${gettext("according to controller and kubelet")}</span></th><td></td></tr>
                <tr><th scope="col">${gettext("Volume")}</th><th scope="col">${gettext("Needed by")}</th><th scope="col">${gettext("Since")}</th><th scope="col"><span class="vh">${gettext("Difference")}</span></th>
                  <th scope="col">${gettext("Attached")}</th><th scope="col">${gettext("Device")}</th><th scope="col">${gettext("Mounted for")}</th><th scope="col">${gettext("What comes next")}</th></tr></thead>
              <tbody>${rows.slice(0, ROWS).map((row) => html`<${Row} key=${row.unique} session=${session} row=${row} />`)}</tbody></table></div>`
      }
      ${rows.length > ROWS && html`<p class="small mute after">${gettext("Showing {shown} of {all}, differences first.", {shown: ROWS, all: count(rows.length)})}</p>`}
    </section>`;
}

function differWords(all, differ) {
  if (all === 0) return gettext("no volumes");
  return differ === 0
    ? ngettext("{count} volume, no difference", "{count} volumes, no difference", all)
    : all === 1
      ? gettext("1 of 1 volume differs")
      : ngettext("{count} of {all} volumes differs", "{count} of {all} volumes differ", differ, {all: count(all)});
}

const SPOKEN = {"=": gettext("equal"), "+": gettext("desired, not actual"), "−": gettext("actual, not desired")};

function Row({session, row}) {
  const {at} = session.model;
  const next = nextStep(row, at);
  const volume = session.model.entities.get(`volume/${row.name}`);
  return html`
    <tr class=${row.sign === "=" ? "" : `diff f-${row.family}`}>
      <th scope="row" class="cut" title=${`${row.name} ${row.plugin}\n${row.unique}`}><${Name} name=${row.name} untitled /><span>${listParts([row.plugin, ...(isTerminating(volume) ? [html`<b class="tinted f-stuck" title=${holdWords(`volume/${row.name}`, session.model)}>${TERMINATING.text}</b>`] : [])])}</span></th>
      <td class="d first cut">${row.desired.length === 0 ? html`<span class="mute">${gettext("no pod")}</span>` : html`<${Pods} session=${session} keys=${row.desired.map(([pod]) => pod)} />`}</td>
      <td class="d last num mute">${row.desired.length > 0 && timeText(row.desired[0][1])}</td>
      <td class="g"><span class="gl" role="img" aria-label=${SPOKEN[row.sign]}>${row.sign}</span></td>
      <td class="a cut"><${Stated} state=${attachedState(row, at)} /></td>
      <td class="a cut"><${Stated} state=${deviceState(row, at)} /></td>
      <td class="a last cut">${mountStates(row, at)
        .slice(0, 2)
        .map(
          ([mark, family, words, pod]) => html`
        <${Stated} key=${pod ?? words} state=${[mark, family, words]}>${pod && html` <${PodLink} session=${session} podKey=${pod} />`}<//>`,
        )}<${More} found=${row.mounts.length - 2} /></td>
      <td class=${`next cut${next === NOTHING ? " mute" : ""}`} title=${[next, row.trouble?.error].filter(Boolean).join("\n")}>${next}</td></tr>`;
}

function Pods({session, keys}) {
  return html`<${PodLink} session=${session} podKey=${keys[0]} /><${More} found=${keys.length - 1} />`;
}

function More({found}) {
  const words = gettext("and {found} more", {found});
  return found > 0 && html`<span class="mute" title=${words}> ${words}</span>`;
}

function Stated({state: [mark, family, words], children}) {
  if (!mark) return html`<span class="mute">${words}</span>`;
  return html`<span class="state" title=${words}><${Mark} name=${mark} family=${family} />${words}${children}</span>`;
}
