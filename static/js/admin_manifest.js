/** Pages of the admin with a manifest: its field becomes an editor, with completion and remarks. */
import {effect} from "@preact/signals";

import {Writing} from "./controllers/acting/writing.js";
import {RunApi} from "./lib/api.js";
import {makeEditor} from "./lib/editor.js";
import {gettext} from "./lib/words.js";

for (const field of document.querySelectorAll("textarea[data-yaml]")) {
  if (field instanceof HTMLTextAreaElement) beginWriting(field);
}

/** Put an editor in the place of a field, which goes on to be what is sent. */
function beginWriting(field) {
  const {run, object = ""} = field.dataset;
  const writing = new Writing(new RunApi(run), object);
  writing.text = field.value;
  const initial = document.querySelector(`input[name="initial-${field.name}"]`);
  if (initial instanceof HTMLInputElement) writing.base = initial.value;
  const host = document.createElement("div");
  host.className = "yaml-editor";
  const told = document.createElement("ul");
  told.className = "yaml-remarks";
  field.after(host, told);
  field.hidden = true;
  const editor = makeEditor(host, {
    text: field.value,
    label: gettext("Manifest"),
    onChange: (text) => {
      field.value = text;
      writing.changed(text);
    },
    complete: (place) => writing.complete(place),
    explain: (place) => writing.explain(place),
  });
  // The field that the label names is hidden.
  field.labels[0]?.addEventListener("click", () => editor.goTo(1));
  effect(() => {
    const remarks = writing.remarks.value;
    editor.show(remarks);
    told.replaceChildren(...remarks.map((one) => remarkItem(one, editor)));
  });
  writing.followKind();
  // Without the kinds nothing is completed where a kind stands; all else works.
  writing.loadKinds().catch(() => {});
}

function remarkItem({line, message, severity}, editor) {
  const item = document.createElement("li");
  item.className = severity;
  if (line > 0) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = gettext("Line {line}", {line});
    button.addEventListener("click", () => editor.goTo(line));
    item.append(button, " ");
  }
  item.append(message);
  return item;
}
