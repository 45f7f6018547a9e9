import {html} from "../lib/html.js";
import {askedWords, verdictLook} from "../model/candidates.js";
import {accessModes, bytes, count, moment} from "../model/format.js";
import {volumeLook} from "../model/machines.js";
import {EventLink} from "./events.js";
import {Mark} from "./mark.js";

/** Every volume as a candidate for the chosen claim, in matching order, with its verdict; `open` while none was taken. */
export function CandidateTable({board, held, open, pick}) {
  if (!held) return null;
  const {status, told, message} = held;
  return html`
    <section class="candidates" aria-label="Candidate volumes">
      <div class="sechead"><h2>Candidate volumes</h2>
        ${told && html`<span class="note">as seen at <${EventLink} board=${board} seq=${told.seq}>${moment(told.at)} s<//>, ${askedWords(told)}</span>`}</div>
      ${status === "loading" && html`<p class="small mute" role="status">Putting the rules to every volume…</p>`}
      ${status === "failed" && html`<p class="small" role="status">${message}</p>`}
      ${told && (told.candidates.length > 0 ? html`<${Table} board=${board} told=${told} open=${open} pick=${pick} />`
        : html`<p class="small mute">There was no volume in the cluster.</p>`)}
    </section>`;
}

function Table({board, told, open, pick}) {
  const {candidates, volumes} = told;
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label="Candidate volumes, table"><table class="tbl cand">
      <thead><tr><th scope="col">Volume</th><th scope="col" class="right">Capacity</th><th scope="col">Access</th><th scope="col">Class</th>
        <th scope="col">Phase now</th><th scope="col">Verdict</th><th scope="col">Evidence</th></tr></thead>
      <tbody>${candidates.map((row) => html`<${Candidate} key=${row.volume} row=${row} open=${open} volume=${board.model.entities.get(`volume/${row.volume}`)} pick=${pick} />`)}</tbody>
    </table></div>
    ${volumes > candidates.length && html`<p class="small mute after">The first ${count(candidates.length)} of ${count(volumes)}.</p>`}`;
}

function Candidate({row, open, volume, pick}) {
  const [mark, family, words] = verdictLook(row.verdict, open);
  const more = row.faults.length - 1;
  return html`
    <tr class=${row.verdict === "chosen" ? "picked" : ""}>
      <th scope="row"><button class="link cut" title=${row.volume} onClick=${() => pick(`volume/${row.volume}`)}>${row.volume}</button></th>
      <td class="right nowrap">${bytes(row.capacity)}</td><td>${accessModes(row.modes)}</td><td>${row.class || html`<span class="mute">none</span>`}</td>
      <td class="nowrap"><${Phase} volume=${volume} /></td>
      <td class="nowrap"><span class="state"><${Mark} name=${mark} family=${family} />${words}</span></td>
      <td class="soft" title=${row.faults.map(({text}) => text).join("\n")}>${row.text}${more > 0 ? `; ${more} more ${more === 1 ? "check fails" : "checks fail"}` : ""}</td></tr>`;
}

function Phase({volume}) {
  if (!volume) return html`<span class="state mute"><${Mark} name="lost" family="held" />gone</span>`;
  const {mark, family, title} = volumeLook(volume);
  return html`<span class="state"><${Mark} name=${mark} family=${family} />${title}</span>`;
}
