import {gettext} from "../../lib/words.js";
import {html} from "../../lib/html.js";
import {Mark} from "../shared/mark.js";
import {Sentence} from "../shared/sentence.js";

/** Pages that show an object at an instant; all other objects are seen where one is. */
const SHOWN = /^(pod|claim|volume|node)\//;

/** The answer to the question of the run, at its end. */
export function AnswerBanner({session}) {
  const {words, proof} = session.answer;
  if (!words.value) return null;
  return html`
    <div class="runanswer" role="status"><${Mark} name="ok" family="settled" /><p><b>${gettext("Answer")}</b> <${Sentence} text=${words} />
      ${" "}${proof.value && html`<a href=${hrefOf(session, proof.value)}>${gettext("See it happen")}</a>`}</p></div>`;
}

function hrefOf(session, {seq, object}) {
  return SHOWN.test(object) ? session.hrefOf(object, {seq}) : session.hrefAt(seq);
}
