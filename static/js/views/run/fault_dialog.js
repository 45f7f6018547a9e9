import {useEffect, useState} from "preact/hooks";

import {readJson} from "../../lib/api.js";
import {html} from "../../lib/html.js";
import {gettext} from "../../lib/words.js";
import {faultCommand, fittingFaults, offeredFor, valuesFor} from "../../model/acting/faults.js";
import {ActDialog} from "./act_dialog.js";

/** Injects any fault that the engine knows; for the object of this id, if given, those that can name it. */
export function FaultDialog({session, id = "", close}) {
  const [forms, setForms] = useState(/** @type {any[] | null} */ (null));
  const [chosen, choose] = useState("");
  const [values, setValues] = useState(/** @type {Record<string, string>} */ ({}));
  useEffect(() => {
    readJson("/api/v1/faults/").then((answer) => setForms(fittingFaults(answer?.items ?? [], id)));
  }, []);
  const form = forms?.find(({kind}) => kind === chosen);
  const pick = (kind) => {
    choose(kind);
    const found = forms?.find((one) => one.kind === kind);
    setValues(found ? valuesFor(found, id) : {});
  };
  const {command, problem} = form ? faultCommand(form, values) : {command: null, problem: ""};
  return html`
    <${ActDialog} session=${session} title=${gettext("Inject a fault")} order=${gettext("fault {chosen}", {chosen})} shows=${id} close=${close}
      commands=${command && [command]} problem=${problem}>
      ${forms?.length === 0 && html`<p class="small" role="alert">${gettext("The faults could not be read, or none of them concerns {id}.", {id})}</p>`}
      <label class="input">${gettext("Fault")}<select value=${chosen} onChange=${(event) => pick(event.target.value)}>
        <option value="">${gettext("Choose…")}</option>
        ${forms?.map(({kind}) => html`<option key=${kind} value=${kind}>${kind}</option>`)}</select></label>
      ${form && html`<p class="small soft">${form.does}</p>`}
      ${form?.fields.map(
        (
          field,
        ) => html`<${Field} key=${`${chosen} ${field.name}`} session=${session} field=${field} value=${values[field.name] ?? ""}
        write=${(text) => setValues({...values, [field.name]: text})} />`,
      )}
    <//>`;
}

function Field({session, field, value, write}) {
  const {name, names, type, required, open} = field;
  const named = `${name}${names === name ? "" : ` (${names})`}`;
  const label = required ? named : gettext("{field}, optional", {field: named});
  const offered = offeredFor(field, session.model.entities);
  if (!open) {
    return html`
      <label class="input">${label}<select value=${value} onChange=${(event) => write(event.target.value)}>
        <option value="">${required ? gettext("Choose…") : gettext("not set")}</option>
        ${offered.map((one) => html`<option key=${one} value=${one}>${one}</option>`)}</select></label>`;
  }
  const list = offered.length > 0 ? `fault-${name}` : undefined;
  return html`
    <label class="input">${label}<input value=${value} list=${list} inputmode=${type === "text" ? undefined : "decimal"} autocomplete="off"
      onInput=${(event) => write(event.target.value)} /></label>
    ${list && html`<datalist id=${list}>${offered.map((one) => html`<option key=${one} value=${one}></option>`)}</datalist>`}`;
}
