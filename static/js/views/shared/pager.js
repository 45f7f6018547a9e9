import {html} from "../../lib/html.js";
import {gettext} from "../../lib/words.js";
import {count} from "../../model/shared/format.js";

/** The buttons that lead through a long table: `page` of `pages`, counted from 0; `go` is called with the next one. */
export function Pager({shown: {page, pages}, go}) {
  return html`
    <nav class="listfoot" aria-label=${gettext("Pages of the table")}>
      <button class="btn" disabled=${page === 0} onClick=${() => go(page - 1)}>${gettext("Previous")}</button>
      <span class="small mute num">${gettext("page {page} of {pages}", {page: count(page + 1), pages: count(pages)})}</span>
      <button class="btn" disabled=${page + 1 >= pages} onClick=${() => go(page + 1)}>${gettext("Next")}</button></nav>`;
}
