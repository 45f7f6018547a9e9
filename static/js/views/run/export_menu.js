import {html} from "../../lib/html.js";
import {gettext} from "../../lib/words.js";
import {exportGroups} from "../../model/run/exports.js";

/** What the run can be saved as; a link downloads it. */
export function ExportMenu({session}) {
  if (session.isWaiting) return null;
  const {seq, past} = session.place;
  const groups = exportGroups({
    known: session.run.value.exports ?? [],
    url: (params) => session.api.url("export/", params),
    seq: past ? seq : null,
    pod: session.selection.pod.value,
  });
  if (!groups.length) return null;
  return html`
    <details class="menu change"><summary class="btn" aria-label=${gettext("Export the run")}>${gettext("Export")}</summary>
      <div class="menubody">${groups.map(
        (links, place) => html`
          ${place > 0 && html`<hr />`}
          ${links.map(({text, href}) => html`<a key=${href} href=${href} download>${text}</a>`)}`,
      )}</div></details>`;
}
