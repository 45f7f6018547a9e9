import {html} from "../../lib/html.js";
import {gettext, listText, ngettext} from "../../lib/words.js";
import {
  actsOf,
  asideRows,
  causeRows,
  isDoubtful,
  isWhole,
  readRows,
  readingFacts,
  sizeWords,
} from "../../model/first_look/first_look.js";
import {intakeParts} from "../../model/first_look/intake.js";
import {count} from "../../model/shared/format.js";
import {Consent} from "../run/consent.js";
import {StopBanner} from "../run/left_out.js";
import {Notice} from "../run/notice.js";
import {Icon, Mark} from "../shared/mark.js";
import {Sentence} from "../shared/sentence.js";
import {Superseded} from "../shared/superseded.js";
import {Side, Trust} from "./first_look_side.js";
import {StandingPicture} from "./standing_picture.js";
import {TryAgain} from "../shared/try_again.js";

/** The first look at files that were brought: what was read, what was not, what is assumed; and the ways on. */
export function FirstLookPage({session, firstLook, versions, token}) {
  const look = firstLook.look.value;
  return html`
    <${StopBanner} session=${session} />
    <${Notice} session=${session} />
    <${Consent} session=${session} />
    ${look ? html`<${Look} session=${session} firstLook=${firstLook} look=${look} versions=${versions} token=${token} />` : html`<${Waiting} firstLook=${firstLook} />`}`;
}

function Waiting({firstLook}) {
  return html`<main class="page firstlook"><h1>${gettext("First look")}</h1><${Comparing} firstLook=${firstLook} /></main>`;
}

/** That the rest is on its way, or why it is not. */
function Comparing({firstLook}) {
  const problem = firstLook.problem.value;
  if (!problem) return html`<p class="small mute" role="status">${gettext("Comparing the files with the model…")}</p>`;
  return html`<div class="unread" role="alert"><p class="small">${problem}</p><p class="does"><${TryAgain} main retry=${() => firstLook.load()} /></p></div>`;
}

function Look({session, firstLook, look, versions, token}) {
  const run = session.run.value;
  return html`
    <main class="page firstlook">
      <div class="fhead"><h1>${gettext("{name} is read. {size}", {name: run.name, size: html`<span>${sizeWords(look)}</span>`})}</h1>
        <p class="ffacts small"><${Mark} name="ok" family="settled" />${readingFacts(look).map((each) => html`<span key=${each}>${each}</span>`)}</p></div>
      ${isDoubtful(look) && html`<section class="doubt" aria-label=${gettext("How far to trust it")}><h2>${gettext("The model decides otherwise than your cluster did")}</h2><${Trust} look=${look} /></section>`}
      ${isWhole(look) ? html`<${Acts} session=${session} firstLook=${firstLook} look=${look} /><${Causes} session=${session} look=${look} />` : html`<${Comparing} firstLook=${firstLook} />`}
      <div class="fcols"><div>
        ${isWhole(look) && html`<${StandingPicture} session=${session} look=${look} />`}
        <${Intake} report=${look.report} />
        <${Read} look=${look} />
        <${Aside} look=${look} />
      </div><${Side} session=${session} look=${look} versions=${versions} token=${token} /></div>
    </main>`;
}

/** The ways on. The black one is the first: what is stuck is explained before anything plays. */
function Acts({session, firstLook, look}) {
  const {explain, play} = actsOf(look, session.run.value);
  const playClass = explain?.isMain ? "act" : "act main";
  return html`
    <nav class="acts" aria-label=${gettext("What now")}>
      ${
        explain &&
        html`<a class=${`act${explain.isMain ? " main" : ""}`} href=${session.href("triage")}>
          ${explain.number ? html`<span class="actnumber num">${explain.number}</span>` : html`<${Icon} name="ok" />`}
          <span><b>${explain.title}</b><span>${explain.words}</span></span><${Icon} name="arrow" /></a>`
      }
      ${
        session.mayChange
          ? html`<button class=${playClass} onClick=${() => firstLook.play()}><${Icon} name="play" /><span><b>${play.title}</b><span>${play.words}</span></span></button>`
          : html`<a class=${playClass} href=${session.href("board")}><${Icon} name="play" /><span><b>${gettext("Look at the board")}</b><span>${gettext("you can view this run but not change it")}</span></span></a>`
      }
      ${
        session.mayChange &&
        html`<a class="act" href=${session.href("nodes")}><${Icon} name="fork" /><span><b>${gettext("Change something")}</b><span>${gettext("cordon or drain a node, scale or edit an object")}</span></span></a>`
      }
    </nav>`;
}

/** What is stuck, to be seen without a click: the sentence of each cause and what it holds. */
function Causes({session, look}) {
  const {shown, more} = causeRows(look);
  if (shown.length === 0) return null;
  const href = session.href("triage");
  return html`
    <section class="fcauses" aria-label=${gettext("What is stuck")}><ol>${shown.map(
      ({cause, holds, contradicts, held}, i) => html`
        <li key=${i}><a href=${`${href}#cause-${i}`}><span class="holds"><${Mark} name="unschedulable" family="stuck" />${holds}</span>
          <span class="said"><${Sentence} text=${cause} />${contradicts && html` <em>${gettext("The model would let it go on.")}</em>`}<${Superseded} session=${session} ids=${held} /></span></a></li>`,
    )}${more > 0 && html`<li><a href=${href}><span class="holds">${gettext("{more} more", {more: count(more)})}</span><span class="said">${gettext("in the triage")}</span></a></li>`}</ol></section>`;
}

/** What the import left open, assumed, recognised and skipped. */
function Intake({report}) {
  return intakeParts(report).map(
    ({title, rows, more}, i) => html`
    <section class="sec" key=${title} aria-labelledby=${`intake-${i}`}><div class="sechead"><h2 id=${`intake-${i}`}>${title}</h2></div>
      <ul class="warnings small">${rows.map((each) => html`<li key=${each}>${each}</li>`)}${more && html`<li class="mute">${more}</li>`}</ul></section>`,
  );
}

function Read({look}) {
  const rows = readRows(look);
  const hasFiles = rows.some(({files}) => files.length > 0);
  return html`
    <section class="sec" aria-labelledby="read"><div class="sechead"><h2 id="read">${gettext("Read")}</h2><span class="note">${ngettext("{count} kind", "{count} kinds", look.read.length)}</span></div>
      <div class="scroll-x" tabindex="0" role="region" aria-label=${gettext("Table of what was read")}><table class="tbl ftab"><thead><tr><th>${gettext("Kind")}</th><th class="right">${gettext("Number")}</th><th>${gettext("State, as printed")}</th>${hasFiles && html`<th class="opt">${gettext("File")}</th>`}</tr></thead>
        <tbody>${rows.map(
          ({kinds, numbers, state, files}) => html`
          <tr key=${kinds}><th scope="row">${kinds}</th><td class="right num">${numbers}</td><td>${state}</td>
            ${hasFiles && html`<td class="mute opt"><code>${listText(files)}</code></td>`}</tr>`,
        )}</tbody></table></div></section>`;
}

function Aside({look}) {
  const {report} = look;
  return html`
    <section class="sec" aria-labelledby="aside"><div class="sechead"><h2 id="aside">${gettext("Left aside")}</h2><span class="note">${gettext("and what that changes")}</span></div>
      ${!report && html`<p class="small mute">${gettext("How these files were read was not kept.")}</p>`}
      <div class="scroll-x" tabindex="0" role="region" aria-label=${gettext("Table of what was left aside")}><table class="tbl ftab fleft"><thead><tr><th>${gettext("What")}</th><th class="right">${gettext("Number")}</th><th>${gettext("Effect on answers")}</th></tr></thead>
        <tbody>${asideRows(look).map(
          ({what, number, effect, may}) => html`
          <tr key=${what} class=${may ? "may" : "no"}><th scope="row">${what}</th><td class="right num">${number}</td>
            <td><${Mark} name=${may ? "warn" : "ok"} family=${may ? "clock" : "held"} />${effect}</td></tr>`,
        )}</tbody></table></div>
      ${report?.warnings.length > 0 && html`<ul class="warnings small">${report.warnings.map((each) => html`<li key=${each}>${each}</li>`)}</ul>`}
    </section>`;
}
