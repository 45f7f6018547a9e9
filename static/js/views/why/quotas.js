import {html} from "../../lib/html.js";
import {gettext, listParts, listText} from "../../lib/words.js";
import {parseId} from "../../model/shared/format.js";
import {quotaRows} from "../../model/why/quotas.js";
import {ObjectLink} from "../shared/links.js";

/** What is used of each of these quotas, at the event shown. */
export function Quotas({session, ids}) {
  const {entities} = session.model;
  return ids
    .filter((id) => entities.has(id))
    .map((id) => html`<${Quota} key=${id} session=${session} id=${id} quota=${entities.get(id)} />`);
}

function Quota({session, id, quota}) {
  const rows = quotaRows(quota);
  const scopes = quota.scopes ?? [];
  if (rows.length === 0) return null;
  const {key} = parseId(id);
  return html`
    <div class="scroll-x quota" tabindex="0" role="region" aria-label=${`ResourceQuota ${key}`}><table class="tbl small">
      <caption class="micro soft">${listParts([html`ResourceQuota <${ObjectLink} session=${session} id=${id}>${key}<//>`, ...(scopes.length > 0 ? [gettext("for {scopes}", {scopes: listText(scopes)})] : [])])}</caption>
      <thead><tr><th scope="col">${gettext("Resource")}</th><th scope="col" class="right">${gettext("Used")}</th><th scope="col" class="right">${gettext("Hard")}</th></tr></thead>
      <tbody>${rows.map(
        ({resource, used, hard}) => html`
        <tr key=${resource}><th scope="row">${resource}</th><td class="right">${used}</td><td class="right">${hard}</td></tr>`,
      )}</tbody></table></div>`;
}
