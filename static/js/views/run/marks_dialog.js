import {useEffect, useState} from "preact/hooks";

import {html} from "../../lib/html.js";
import {gettext} from "../../lib/words.js";
import {EFFECTS, labelPatch, labelRows, marksCommand, taintPatch, taintRows} from "../../model/acting/node_marks.js";
import {parseId} from "../../model/shared/format.js";
import {ActDialog} from "./act_dialog.js";

/** Changes the labels of an object, and of a node the taints. */
export function MarksDialog({session, id, close}) {
  const {kind, name} = parseId(id);
  const isNode = kind === "node";
  const [manifest, setManifest] = useState(/** @type {any} */ (null));
  const [labels, setLabels] = useState(/** @type {any[]} */ ([]));
  const [taints, setTaints] = useState(/** @type {any[]} */ ([]));
  const [problem, setProblem] = useState("");
  useEffect(() => {
    const {past, seq} = session.place;
    session.api
      .get(`objects/${id}/`, {seq: past ? seq : null})
      .then((found) => {
        setManifest(found);
        setLabels(labelRows(found.metadata.labels));
        setTaints(taintRows(found.spec?.taints));
      })
      .catch((error) => setProblem(error.message));
  }, []);
  const command =
    manifest &&
    marksCommand(
      id,
      labelPatch(manifest.metadata.labels, labels),
      isNode ? taintPatch(manifest.spec?.taints, taints) : null,
    );
  return html`
    <${ActDialog} session=${session} title=${isNode ? gettext("Taints and labels of {name}", {name}) : gettext("Labels of {name}", {name})} order=${gettext("mark {name}", {name})}
      shows=${id} close=${close} commands=${command && [command]} problem=${problem}>
      ${manifest && isNode && html`<${Rows} title=${gettext("Taints")} rows=${taints} write=${setTaints} fresh=${{key: "", value: "", effect: EFFECTS[0]}} />`}
      ${manifest && html`<${Rows} title=${gettext("Labels")} rows=${labels} write=${setLabels} fresh=${{key: "", value: ""}} />`}
    <//>`;
}

function Rows({title, rows, write, fresh}) {
  const put = (place, part) => write(rows.map((row, at) => (at === place ? {...row, ...part} : row)));
  return html`
    <fieldset class="marks"><legend>${title}</legend>
      ${rows.map(
        (row, place) => html`
        <div class="markrow" key=${place}>
          <input aria-label=${gettext("{title}, key {place}", {title, place: place + 1})} placeholder=${gettext("key")} value=${row.key} onInput=${(event) => put(place, {key: event.target.value})} />
          <input aria-label=${gettext("{title}, value {place}", {title, place: place + 1})} placeholder=${gettext("value")} value=${row.value} onInput=${(event) => put(place, {value: event.target.value})} />
          ${
            row.effect &&
            html`<select aria-label=${gettext("Effect {place}", {place: place + 1})} value=${row.effect} onChange=${(event) => put(place, {effect: event.target.value})}>
            ${EFFECTS.map((one) => html`<option key=${one}>${one}</option>`)}</select>`
          }
          <button class="btn icon" type="button" aria-label=${row.key ? gettext("Remove {key}", {key: row.key}) : gettext("Remove this row")} onClick=${() => write(rows.filter((_, at) => at !== place))}>×</button>
        </div>`,
      )}
      <button class="btn" type="button" onClick=${() => write([...rows, fresh])}>${gettext("Add")}</button></fieldset>`;
}
