import {html} from "../../lib/html.js";
import {gettext, listText, ngettext} from "../../lib/words.js";
import {placeOf} from "../../model/nodes/nodes.js";
import {deviceVerdicts, resourceClaimsOf} from "../../model/pods/pod_devices.js";
import {healthOf} from "../../model/run/health_of.js";
import {count, parseId} from "../../model/shared/format.js";
import {ClaimLink, NodeLink, ObjectLink} from "../shared/links.js";
import {Mark} from "../shared/mark.js";

const VERDICTS = 120;

/** From a pod by its resource claims to devices and the node; while it waits, what kept it from each device. */
export function PodDevices({session, id, pod, evidence}) {
  const {entities} = session.model;
  const claims = resourceClaimsOf(entities, id, pod);
  const hasAll = claims.every(({devices}) => devices.length > 0);
  const verdicts = hasAll ? [] : deviceVerdicts(evidence);
  return html`
    <section class="sec devices" aria-label=${gettext("Devices")}><div class="sechead"><h2>${gettext("Devices")}</h2>
        <span class="note">${ngettext("of {count} resource claim", "of {count} resource claims", claims.length)}</span></div>
      <ul class="chains">${claims.map((claim) => html`<${Chain} key=${claim.id} session=${session} id=${id} node=${placeOf(pod)} claim=${claim} />`)}</ul>
      ${verdicts.length > 0 && html`<${Verdicts} session=${session} rows=${verdicts} />`}
    </section>`;
}

/** Pod – claim – devices – node, for one claim. */
function Chain({session, id, node, claim}) {
  const {requests, devices, users} = claim;
  const others = users.filter((name) => name !== parseId(id).name);
  const {state, mark, family, words, detail} = healthOf(claim.id, session.model);
  return html`
    <li><span>${parseId(id).name}</span> <span class="mute">→</span> ${
      requests
        ? html`<${ClaimLink} session=${session} id=${claim.id} />`
        : html`${claim.name} <span class="mute">${gettext("does not exist")}</span>`
    } <span class="mute">→</span> ${
      devices.length > 0
        ? html`<${Mark} name=${mark} family=${family} />${listText(devices.map(({driver, pool, device}) => `${driver}/${pool}/${device}`))}`
        : requests && html`<${Mark} name=${mark} family=${family} /><span class="soft" title=${detail}>${words}</span>`
    }${devices.length > 0 && state !== "well" && html` <span class="soft" title=${detail}>${words}</span>`}${node && devices.length > 0 && html` <span class="mute">→</span> <${NodeLink} session=${session} name=${node} />`}
    ${others.length > 0 && html`<span class="small mute"> ${gettext("also used by {others}", {others: listText(others)})}</span>`}</li>`;
}

function Verdicts({session, rows}) {
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label=${gettext("What kept the pod from each device, table")}><table class="tbl">
      <caption class="small soft">${gettext("What kept the pod from each device in its newest attempt")}</caption>
      <thead><tr><th scope="col">${gettext("Node")}</th><th scope="col">${gettext("Request")}</th><th scope="col">${gettext("Device")}</th><th scope="col">${gettext("Why not")}</th></tr></thead>
      <tbody>${rows.slice(0, VERDICTS).map(
        ({node, slice, device, request, mark, family, text}) => html`
        <tr key=${`${node} ${request} ${slice} ${device}`}><th scope="row"><${NodeLink} session=${session} name=${node} /></th><td>${request}</td>
          <td><${ObjectLink} session=${session} id=${slice}>${device}<//></td><td><${Mark} name=${mark} family=${family} />${text}</td></tr>`,
      )}</tbody></table></div>
    ${rows.length > VERDICTS && html`<p class="small mute after">${gettext("Showing {shown} of {all}.", {shown: VERDICTS, all: count(rows.length)})}</p>`}`;
}
