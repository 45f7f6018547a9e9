import {html} from "../../lib/html.js";
import {gettext, sentences} from "../../lib/words.js";
import {TryAgain} from "../shared/try_again.js";

/** Shown while evidence is loading, or when it could not be loaded. */
export function EvidenceState({reading: {status, evidence, message}, retry}) {
  if (status === "loading" && !evidence) {
    return html`<p class="small soft evidencestate" role="status">${gettext("Loading the attempt…")}</p>`;
  }
  if (status !== "failed") return null;
  return html`
    <p class="small evidencestate" role="alert">${sentences([gettext("The attempt could not be read."), message])}<${TryAgain} retry=${retry} /></p>`;
}
