import {html} from "../../lib/html.js";
import {gettext, labelled} from "../../lib/words.js";
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
      <section aria-label=${gettext("Conditions")}><div class="sechead"><h2>${gettext("Conditions")}</h2>${conditions.length === 0 && html`<span class="note">${gettext("none reported")}</span>`}</div>
        ${conditions.length > 0 && html`<${Conditions} rows=${conditions} />`}</section>
      <section aria-label=${gettext("Images")}><div class="sechead"><h2>${gettext("Images")}</h2><span class="note">${images.length === 0 ? gettext("none reported") : count(images.length)}</span></div>
        ${images.length > 0 && html`<${Images} rows=${images} />`}</section></div>`;
}

function Conditions({rows}) {
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label=${gettext("Conditions, table")}><table class="tbl conditions">
      <thead><tr><th scope="col">${gettext("Type")}</th><th scope="col">${gettext("Status")}</th><th scope="col">${gettext("Since")}</th><th scope="col">${gettext("Reason and message")}</th></tr></thead>
      <tbody>${rows.map(
        ({type, status, since, reason, message, family}) => html`
        <tr key=${type}><th scope="row">${type}</th>
          <td><span class="state"><${Mark} name=${family === "settled" ? "ok" : "no"} family=${family} />${status}</span></td>
          <td class="soft nowrap">${since}</td><td class="soft">${reason ? labelled(reason, message) : message}</td></tr>`,
      )}</tbody></table></div>`;
}

function Images({rows}) {
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label=${gettext("Images, table")}><table class="tbl images">
      <thead><tr><th scope="col">${gettext("Image")}</th><th scope="col" class="right">${gettext("Size")}</th></tr></thead>
      <tbody>${rows.slice(0, IMAGES).map(
        ({name, others, size}) => html`
        <tr key=${name}><th scope="row" class="mono" title=${[name, ...others].join("\n")}>${name}</th><td class="right nowrap">${bytes(size)}</td></tr>`,
      )}</tbody></table></div>
    ${rows.length > IMAGES && html`<p class="small mute after">${gettext("Showing {shown} of {all}, the largest first.", {shown: IMAGES, all: count(rows.length)})}</p>`}`;
}
