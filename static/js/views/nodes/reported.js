import {html} from "../../lib/html.js";
import {conditionsOf, imagesOf} from "../../model/nodes/node_facts.js";
import {bytes, count} from "../../model/shared/format.js";
import {Mark} from "../shared/mark.js";

const IMAGES = 40;

/** What the kubelet reports of its node: conditions, and the images that it has. */
export function Reported({reading: {status, object}}) {
  if (status !== "ready") return null;
  const conditions = conditionsOf(object);
  const images = imagesOf(object);
  return html`
    <div class="sec grid2">
      <section aria-label="Conditions"><div class="sechead"><h2>Conditions</h2>${conditions.length === 0 && html`<span class="note">none reported</span>`}</div>
        ${conditions.length > 0 && html`<${Conditions} rows=${conditions} />`}</section>
      <section aria-label="Images"><div class="sechead"><h2>Images</h2><span class="note">${images.length === 0 ? "none reported" : count(images.length)}</span></div>
        ${images.length > 0 && html`<${Images} rows=${images} />`}</section></div>`;
}

function Conditions({rows}) {
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label="Conditions, table"><table class="tbl conditions">
      <thead><tr><th scope="col">Type</th><th scope="col">Status</th><th scope="col">Since</th><th scope="col">Reason and message</th></tr></thead>
      <tbody>${rows.map(
        ({type, status, since, reason, message, family}) => html`
        <tr key=${type}><th scope="row">${type}</th>
          <td><span class="state"><${Mark} name=${family === "settled" ? "ok" : "no"} family=${family} />${status}</span></td>
          <td class="soft nowrap">${since}</td><td class="soft">${[reason, message].filter(Boolean).join(": ")}</td></tr>`,
      )}</tbody></table></div>`;
}

function Images({rows}) {
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label="Images, table"><table class="tbl images">
      <thead><tr><th scope="col">Image</th><th scope="col" class="right">Size</th></tr></thead>
      <tbody>${rows.slice(0, IMAGES).map(
        ({name, others, size}) => html`
        <tr key=${name}><th scope="row" class="mono" title=${[name, ...others].join("\n")}>${name}</th><td class="right nowrap">${bytes(size)}</td></tr>`,
      )}</tbody></table></div>
    ${rows.length > IMAGES && html`<p class="small mute after">Showing ${IMAGES} of ${count(rows.length)}, the largest first.</p>`}`;
}
