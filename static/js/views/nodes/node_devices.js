import {html} from "../../lib/html.js";
import {gettext, listText} from "../../lib/words.js";
import {count} from "../../model/shared/format.js";
import {ClaimLink, ObjectLink} from "../shared/links.js";
import {Mark} from "../shared/mark.js";

const DEVICES = 120;

/** The devices of a node: what each is, and which claim has it. Nothing for a node without devices. */
export function NodeDevices({session, rows}) {
  if (rows.length === 0) return null;
  const free = rows.filter(({holders}) => holders.length === 0).length;
  return html`
    <section class="sec devices" aria-label=${gettext("Devices")}><div class="sechead"><h2>${gettext("Devices")}</h2>
        <span class="note">${gettext("{free} of {all} free", {free: count(free), all: count(rows.length)})}</span></div>
      <div class="scroll-x" tabindex="0" role="region" aria-label=${gettext("Devices, table")}><table class="tbl">
        <thead><tr><th scope="col">${gettext("Device")}</th><th scope="col">${gettext("Pool")}</th><th scope="col">${gettext("Attributes and capacity")}</th>
          <th scope="col">${gettext("Taints")}</th><th scope="col">${gettext("Claim")}</th></tr></thead>
        <tbody>${rows.slice(0, DEVICES).map((row) => html`<${Device} key=${row.id} session=${session} row=${row} />`)}</tbody></table></div>
      ${rows.length > DEVICES && html`<p class="small mute after">${gettext("Showing {shown} of {all}.", {shown: DEVICES, all: count(rows.length)})}</p>`}
    </section>`;
}

function Device({session, row}) {
  const {slice, driver, pool, name, traits, taints, holders} = row;
  return html`
    <tr><th scope="row"><${ObjectLink} session=${session} id=${slice}>${name}<//></th>
      <td>${pool} <span class="mute">${driver}</span></td><td class="soft">${listText(traits)}</td>
      <td>${taints.length > 0 ? html`<${Mark} name="no" family="stuck" />${listText(taints)}` : html`<span class="mute">${gettext("none")}</span>`}</td>
      <td>${
        holders.length > 0
          ? holders.map((id) => html`<${ClaimLink} key=${id} session=${session} id=${id} /> `)
          : html`<span class="mute">${gettext("free")}</span>`
      }</td></tr>`;
}
