import {html} from "../../lib/html.js";
import {gettext} from "../../lib/words.js";
import {marked, observation, verdict} from "../../model/triage/words.js";
import {Icon} from "../shared/mark.js";

/** What was observed in the cluster beside what the model decides, and whether they agree. */
export function Evidence({group}) {
  const {sign, look, words} = verdict(group);
  return html`
    <div class=${`ev ${look}`}><div class="obs"><h4><${Icon} name="eye" />${gettext("Observed in your cluster")}</h4><${Observed} group=${group} /></div>
      <div class="vs" title=${words}><b aria-hidden="true">${sign}</b></div>
      <div class="pred"><h4><${Icon} name="model" />${gettext("The model says")}</h4><p>${group.predicted || gettext("Nothing: it does not play such objects.")}</p></div>
      <p class="evv">${words}</p></div>`;
}

function Observed({group}) {
  const {source, message} = observation(group.observed);
  if (!group.observed) {
    return html`<p>${gettext("Nothing about it is in the files: they have no Events. Bring them with {command}.", {command: html`<code>kubectl get events -A -o yaml</code>`})}</p>`;
  }
  const [before, words, after] = marked(message, group);
  if (!source) return html`<p>${message}</p>`;
  return html`<blockquote>${before}${words && html`<mark>${words}</mark>`}${after}</blockquote><p class="src">${source}</p>`;
}
