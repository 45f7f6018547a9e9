import {html} from "../../lib/html.js";
import {clauses, gettext, listParts, ngettext} from "../../lib/words.js";
import {volumeLook} from "../../model/machines/machines.js";
import {accessModes, bytes, count, timeText} from "../../model/shared/format.js";
import {askedWords, verdictLook} from "../../model/volumes/candidates.js";
import {claimLook} from "../../model/volumes/claims.js";
import {lookOf} from "../../model/shared/terminating.js";
import {EventLink} from "../shared/events.js";
import {Mark} from "../shared/mark.js";

/**
 * The verdict on every volume for the selected claim, in matching order; `open` while none is chosen. For a volume
 * without a claim, the verdict on it for every claim.
 */
export function CandidateTable({session, held, open, pick}) {
  if (!held) return null;
  const {of, status, answer, message} = held;
  const ofClaim = of.startsWith("claim/");
  const title = ofClaim ? gettext("Candidate volumes") : gettext("Claims without a volume");
  return html`
    <section class="candidates" aria-label=${title}>
      <div class="sechead"><h2>${title}</h2>
        ${answer && html`<span class="note">${listParts([gettext("evaluated at {time}", {time: html`<${EventLink} session=${session} seq=${answer.seq}>${timeText(answer.at)}<//>`}), askedWords(answer)])}</span>`}</div>
      ${status === "loading" && html`<p class="small mute" role="status">${gettext("Evaluating candidates…")}</p>`}
      ${status === "failed" && html`<p class="small" role="status">${message}</p>`}
      ${
        answer?.candidates &&
        (answer.volumes > 0
          ? html`<${Table} session=${session} answer=${answer} open=${open} pick=${pick} />`
          : html`<p class="small mute">${gettext("The cluster had no volume.")}</p>`)
      }
      ${
        answer?.claimants &&
        (answer.claims > 0
          ? html`<${ClaimTable} session=${session} answer=${answer} pick=${pick} />`
          : html`<p class="small mute">${gettext("Every claim has a volume.")}</p>`)
      }
    </section>`;
}

function Table({session, answer, open, pick}) {
  const {candidates, volumes} = answer;
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label=${gettext("Candidate volumes, table")}><table class="tbl cand">
      <thead><tr><th scope="col">${gettext("Volume")}</th><th scope="col" class="right">${gettext("Capacity")}</th><th scope="col">${gettext("Access")}</th><th scope="col">${gettext("Class")}</th>
        <th scope="col">${gettext("Phase now")}</th><th scope="col">${gettext("Verdict")}</th><th scope="col">${gettext("Evidence")}</th></tr></thead>
      <tbody>${candidates.map((row) => html`<${Candidate} key=${row.volume} row=${row} open=${open} volume=${session.model.entities.get(`volume/${row.volume}`)} pick=${pick} />`)}</tbody>
    </table></div>
    ${volumes > candidates.length && html`<p class="small mute after">${gettext("Showing {shown} of {all}.", {shown: count(candidates.length), all: count(volumes)})}</p>`}`;
}

/** The claims without a volume, and the verdict on this volume for each. */
function ClaimTable({session, answer: {claimants, claims: total}, pick}) {
  const {claims, entities} = session.model;
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label=${gettext("Claims without a volume, table")}><table class="tbl cand">
      <thead><tr><th scope="col">${gettext("Claim")}</th><th scope="col" class="right">${gettext("Request")}</th><th scope="col">${gettext("Access")}</th><th scope="col">${gettext("Class")}</th>
        <th scope="col">${gettext("Now")}</th><th scope="col">${gettext("Verdict")}</th><th scope="col">${gettext("Evidence")}</th></tr></thead>
      <tbody>${claimants.map((row) => {
        const id = `claim/${row.claim}`;
        const claim = entities.get(id);
        const look = claim && claimLook(claim, claims.state(id, claim, entities));
        return html`
          <tr key=${id}><th scope="row"><button class="link cut" title=${row.claim} onClick=${() => pick(id)}>${row.claim}</button></th>
            <td class="right nowrap">${bytes(row.request)}</td><td>${accessModes(row.modes)}</td><td>${row.class || html`<span class="mute">${gettext("none")}</span>`}</td>
            <td class="nowrap"><${Look} look=${look} /></td><${Verdict} row=${row} open=${true} /></tr>`;
      })}</tbody></table></div>
    ${total > claimants.length && html`<p class="small mute after">${gettext("Showing {shown} of {all}.", {shown: count(claimants.length), all: count(total)})}</p>`}`;
}

function Candidate({row, open, volume, pick}) {
  const look = volume && lookOf(volume, volumeLook(volume));
  return html`
    <tr class=${row.verdict === "chosen" ? "picked" : ""}>
      <th scope="row"><button class="link cut" title=${row.volume} onClick=${() => pick(`volume/${row.volume}`)}>${row.volume}</button></th>
      <td class="right nowrap">${bytes(row.capacity)}</td><td>${accessModes(row.modes)}</td><td>${row.class || html`<span class="mute">${gettext("none")}</span>`}</td>
      <td class="nowrap"><${Look} look=${look} /></td><${Verdict} row=${row} open=${open} /></tr>`;
}

function Verdict({row: {verdict, faults, text}, open}) {
  const [mark, family, words] = verdictLook(verdict, open);
  const more = faults.length - 1;
  return html`
    <td class="nowrap"><span class="state"><${Mark} name=${mark} family=${family} />${words}</span></td>
    <td class="soft" title=${faults.map((fault) => fault.text).join("\n")}>${clauses([text, more > 0 && ngettext("{count} more check fails", "{count} more checks fail", more)])}</td>`;
}

function Look({look}) {
  if (!look) return html`<span class="state mute"><${Mark} name="lost" family="held" />${gettext("deleted")}</span>`;
  return html`<span class="state"><${Mark} name=${look.mark} family=${look.family} />${look.text ?? look.title}</span>`;
}
