import {useLayoutEffect, useRef, useState} from "preact/hooks";

import {html} from "../../lib/html.js";
import {gettext} from "../../lib/words.js";
import {consentFor} from "../../model/run/consent.js";
import {NO_FORK, READ_ONLY} from "../../model/shared/rights.js";

/**
 * A dialog in which something is done to the cluster: in this run, or in a fork of it from the event shown. `commands` are what is
 * done, null while the form does not say yet; `problem` says why. The fork is called after `order` and shows the object
 * of the id `shows`.
 */
export function ActDialog({session, title, order, commands, problem = "", shows = "", close, children}) {
  /** @type {{current: any}} */
  const dialog = useRef(null);
  const [busy, setBusy] = useState("");
  const [refusal, setRefusal] = useState("");
  useLayoutEffect(() => dialog.current.showModal(), []);
  const {past, seq} = session.place;
  const mayHere = session.mayChange && !past;
  const act = async (where) => {
    setBusy(where);
    setRefusal("");
    try {
      if (where === "here") await session.commands.carryOut(commands, {isAsked: true});
      else await session.commands.actInFork(order, commands, {seq: past ? seq : null, id: shows});
      close();
    } catch (error) {
      setRefusal(error.message);
    }
    setBusy("");
  };
  const lines = (commands && consentFor(session.run.value, commands)?.lines) ?? [];
  const isBarred = busy !== "" || !commands;
  return html`
    <dialog class="dialog act" ref=${dialog} aria-labelledby="act-title" onClose=${close}>
      <form method="dialog" onSubmit=${(event) => event.preventDefault()}>
        <h2 id="act-title">${title}</h2>
        ${children}
        ${mayHere && lines.length > 0 && html`<div class="small soft lines">${lines.map((line) => html`<p key=${line}>${line}</p>`)}</div>`}
        ${past && html`<p class="small soft">${gettext("The past cannot be changed; a fork begins here.")}</p>`}
        <p class="small tinted f-stuck" role="alert">${refusal || problem}</p>
        <div class="does"><button class="btn" type="button" onClick=${() => dialog.current.close()}>${gettext("Cancel")}</button>
          <button class="btn" type="button" disabled=${isBarred || !session.mayFork} title=${session.mayFork ? gettext("Forks the run at the event shown and plays the fork") : NO_FORK}
            onClick=${() => act("fork")}>${busy === "fork" ? gettext("Forking…") : gettext("In a fork")}</button>
          <button class="btn primary" type="button" disabled=${isBarred || !mayHere} title=${session.mayChange ? undefined : READ_ONLY}
            onClick=${() => act("here")}>${gettext("In this run")}</button></div>
      </form></dialog>`;
}
