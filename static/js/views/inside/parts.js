import {html} from "../../lib/html.js";
import {gettext} from "../../lib/words.js";

/** The pages Inside, as [page, title]. @type {[string, string][]} */
const PARTS = [
  ["inside-scheduler", gettext("Scheduler")],
  ["inside-volumes", gettext("Volumes")],
];

/** The switch between the pages Inside. */
export function Parts({session, page}) {
  return html`<div class="seg parts" role="group" aria-label=${gettext("Inside")}>${PARTS.map(
    ([each, title]) =>
      html`<a key=${each} class="part" href=${session.href(each)} aria-current=${each === page ? "page" : undefined}>${title}</a>`,
  )}</div>`;
}
