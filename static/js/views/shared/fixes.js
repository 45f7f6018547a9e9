import {html} from "../../lib/html.js";
import {gettext} from "../../lib/words.js";
import {READ_ONLY} from "../../model/shared/rights.js";

/** Changes that would help an object; those with a patch can be applied. */
export function Fixes({session, id, fixes}) {
  if (fixes.length === 0) return null;
  return html`<div class="fixes">${fixes.map(
    (fix, i) => html`
    <div class="fix" key=${fix.text}><span><${Amounts} text=${fix.text} /></span>
      <${FixButtons} session=${session} id=${id} fix=${fix} first=${i === 0} /></div>`,
  )}</div>`;
}

/** The button that applies a patch, at the newest event. */
function FixButtons({session, id, fix, first}) {
  if (!fix.patch) return null;
  const object = fix.object ?? id;
  return html`<span class="does">${
    !session.place.past &&
    html`<button class=${`btn${first ? " primary" : ""}`} aria-label=${gettext("Apply: {text}", {text: fix.text})}
    disabled=${!session.mayChange} title=${session.mayChange ? undefined : READ_ONLY}
    onClick=${() => session.commands.patch(object, fix.patch)}>${gettext("Apply")}</button>`
  }</span>`;
}

const AMOUNT = /((?<![\w.-])\d+(?:\.\d+)?(?:m| ?[KMGT]i)?\b(?![.-]\w))/;

/** A sentence with emphasised amounts. */
export function Amounts({text}) {
  return text.split(AMOUNT).map((part, i) => (i % 2 === 1 ? html`<b class="strong">${part}</b>` : part));
}
