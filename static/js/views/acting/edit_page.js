import {useEffect, useRef} from "preact/hooks";

import {makeEditor} from "../../lib/editor.js";
import {html} from "../../lib/html.js";
import {gettext} from "../../lib/words.js";
import {count, parseId, timeText} from "../../model/shared/format.js";
import {NO_FORK, READ_ONLY} from "../../model/shared/rights.js";
import {Reading, RunPage, isWaiting} from "../run/run_page.js";

/** The page on which an object is written or changed, as YAML. */
export function EditPage({session, editing}) {
  return html`<${RunPage} session=${session}><${Body} session=${session} editing=${editing} /><//>`;
}

function Body({session, editing}) {
  const title = editing.id ? gettext("Edit {name}", {name: parseId(editing.id).name}) : gettext("New object");
  if (isWaiting(session)) return html`<main class="page"><h1>${title}</h1><${Reading} session=${session} /></main>`;
  const {status, message} = editing.reading.value;
  return html`
    <main class="page editpage">
      <div class="pagehead"><h1>${title}</h1>${editing.id && html`<span class="badge">${parseId(editing.id).kind}</span>`}
        <span class="small mute">${from(session)}</span>
        <div class="end">${!editing.id && html`<${Kinds} editing=${editing} />`}
          ${editing.id && html`<a class="btn" href=${session.href("manifest", {of: editing.id})}>${gettext("Manifest")}</a>`}</div></div>
      ${status === "loading" && html`<p class="small mute" role="status">${gettext("Reading the manifest…")}</p>`}
      ${status === "failed" && html`<p class="small tinted f-stuck" role="alert">${message}</p>`}
      ${status === "ready" && html`<${Field} session=${session} editing=${editing} />`}
    </main>`;
}

function from(session) {
  const {seq, past} = session.place;
  return past
    ? gettext("as it was after event {seq}, at {at}: only a fork can be changed there", {
        seq: count(seq),
        at: timeText(session.model.at),
      })
    : "";
}

function Kinds({editing}) {
  const {kinds, kind} = editing;
  const key = (one) => `${one.api_version} ${one.kind}`;
  const choose = (event) => editing.choose(kinds.value.find((one) => key(one) === event.target.value));
  return html`
    <label class="input">${gettext("Kind")}<select value=${kind.value ? key(kind.value) : ""} onChange=${choose}>
      ${kinds.value.map((one) => html`<option key=${key(one)} value=${key(one)}>${one.kind} (${one.api_version})</option>`)}</select></label>`;
}

function Field({session, editing}) {
  const [host, editor] = [useRef(/** @type {any} */ (null)), useRef(/** @type {any} */ (null))];
  useEffect(() => {
    editor.current = makeEditor(host.current, {
      text: editing.text,
      label: editing.id ? gettext("Manifest of {id}", {id: editing.id}) : gettext("Manifest of the new object"),
      onChange: (text) => editing.changed(text),
      complete: (place) => editing.complete(place),
      explain: (place) => editing.explain(place),
    });
    editing.onText = (text) => editor.current.write(text);
    return () => editor.current.destroy();
  }, []);
  const remarks = editing.remarks.value;
  useEffect(() => editor.current.show(remarks), [remarks]);
  return html`
    <p class="small mute">${gettext("Ctrl-Space completes a field or a value; pointing at a field explains it. Tab leaves the editor.")}</p>
    <div class="editor" ref=${host}></div>
    <${Remarks} remarks=${remarks} goTo=${(line) => editor.current.goTo(line)} />
    <p class="small tinted f-stuck" role="alert">${editing.problem.value}</p>
    <${Does} session=${session} editing=${editing} />`;
}

function Remarks({remarks, goTo}) {
  if (remarks.length === 0) return null;
  return html`
    <ul class="remarks small" aria-label=${gettext("What is wrong")}>${remarks.map(
      ({line, message, severity}) => html`
      <li key=${`${line} ${message}`} class=${severity === "error" ? "f-stuck" : "f-clock"}>
        ${line > 0 ? html`<button class="linkbtn" onClick=${() => goTo(line)}>${gettext("Line {line}", {line})}</button> ` : null}<span class="tinted">${message}</span></li>`,
    )}</ul>`;
}

const SAVE = [gettext("Save in this run"), gettext("Save in a fork")];
const CREATE = [gettext("Create in this run"), gettext("Create in a fork")];

function Does({session, editing}) {
  const mayHere = editing.mayHere.value;
  const busy = editing.busy.value;
  const [here, there] = editing.id ? SAVE : CREATE;
  const why = session.mayChange ? gettext("The past cannot be changed.") : READ_ONLY;
  return html`
    <div class="does"><a class="btn" href=${editing.id ? session.hrefOf(editing.id) : session.href("board")}>${gettext("Cancel")}</a>
      <button class="btn" disabled=${busy !== "" || !session.mayFork} title=${session.mayFork ? gettext("Forks the run at the event shown and plays the fork") : NO_FORK}
        onClick=${() => editing.send("fork")}>${busy === "fork" ? gettext("Forking…") : there}</button>
      <button class="btn primary" disabled=${busy !== "" || !mayHere} title=${mayHere ? undefined : why}
        onClick=${() => editing.send("here")}>${here}</button></div>`;
}
