import {useRef, useState} from "preact/hooks";

import {html} from "../../lib/html.js";
import {gettext} from "../../lib/words.js";
import {parseId} from "../../model/shared/format.js";
import {ActDialog} from "./act_dialog.js";
import {FaultDialog} from "./fault_dialog.js";
import {MarksDialog} from "./marks_dialog.js";

/** The kinds whose objects faults can name. */
const FAULTY = ["node", "pod", "claim", "volume"];

/**
 * What can be done to the cluster, or to the object of this id, from where one is looking. Who may neither change the run nor
 * fork it sees nothing of it.
 */
export function ChangeMenu({session, id = ""}) {
  const [open, setOpen] = useState("");
  /** @type {{current: any}} */
  const menu = useRef(null);
  if (session.isWaiting || (!session.mayChange && !session.mayFork)) return null;
  const {kind, name} = parseId(id);
  const show = (dialog) => {
    menu.current.open = false;
    setOpen(dialog);
  };
  const close = () => setOpen("");
  return html`
    <details class="menu change" ref=${menu}><summary class="btn" aria-label=${id ? gettext("Change {name}", {name}) : gettext("Change the cluster")}>${gettext("Change")}</summary>
      <div class="menubody">
        ${
          id
            ? html`
            <a href=${session.href("edit", {object: id})}>${gettext("Edit as YAML")}</a>
            <button type="button" onClick=${() => show("marks")}>${kind === "node" ? gettext("Taints and labels…") : gettext("Labels…")}</button>
            ${FAULTY.includes(kind) && html`<button type="button" onClick=${() => show("fault")}>${gettext("Inject a fault…")}</button>`}
            <button type="button" onClick=${() => show("delete")}>${gettext("Delete…")}</button>`
            : html`
            <a href=${session.href("edit")}>${gettext("Create an object")}</a>
            <button type="button" onClick=${() => show("fault")}>${gettext("Inject a fault…")}</button>
            <a href=${session.href("configuration")}>${gettext("Configuration")}</a>`
        }</div></details>
    ${open === "marks" && html`<${MarksDialog} session=${session} id=${id} close=${close} />`}
    ${open === "fault" && html`<${FaultDialog} session=${session} id=${id} close=${close} />`}
    ${open === "delete" && html`<${ActDialog} session=${session} title=${gettext("Delete {name}?", {name})} order=${gettext("delete {name}", {name})} commands=${[{verb: "delete", object: id}]} close=${close} />`}`;
}
