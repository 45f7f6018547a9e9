import {useEffect, useLayoutEffect, useRef, useState} from "preact/hooks";

import {html} from "../../lib/html.js";
import {gettext} from "../../lib/words.js";
import {drainLines} from "../../model/run/consent.js";

/** The dialog that confirms commands that delete something or resume a finished run. */
export function Consent({session}) {
  const question = session.commands.asking.value;
  return question && html`<${Question} key=${question.title} session=${session} question=${question} />`;
}

function Question({session, question}) {
  /** @type {{current: any}} */
  const dialog = useRef(null);
  // Before the next frame, so that a key pressed right after the click goes to the dialog.
  useLayoutEffect(() => dialog.current.showModal(), []);
  const {title, button, lines, drains, answer} = question;
  return html`
    <dialog class="dialog" ref=${dialog} aria-labelledby="consent-title" aria-describedby="consent-lines" onClose=${() => answer(false)}>
      <form method="dialog" onSubmit=${() => answer(true)}>
        <h2 id="consent-title">${title}</h2>
        <div id="consent-lines" class="small soft lines">${drains && html`<${Drain} session=${session} node=${drains} />`}
          ${lines.map((line) => html`<p key=${line}>${line}</p>`)}</div>
        <div class="does"><button class="btn" type="button" autofocus onClick=${() => dialog.current.close()}>${gettext("Cancel")}</button>
          <button class="btn primary">${button}</button></div>
      </form></dialog>`;
}

/** How many pods a drain evicts and which budgets protect some, as the server counts them now. */
function Drain({session, node}) {
  const [counted, setCounted] = useState({
    lines: [gettext("Cordons {node} and evicts its pods. Counting the pods…", {node})],
  });
  useEffect(() => {
    const leaving = new AbortController();
    session.api
      .get(`nodes/${encodeURIComponent(node)}/drain/`, {}, leaving.signal)
      .then((answer) => setCounted({lines: drainLines(node, answer)}))
      .catch((error) => {
        if (error.name !== "AbortError")
          setCounted({
            lines: [
              gettext("Cordons {node} and evicts its pods.", {node}),
              gettext("The pods could not be counted. {message}", {message: error.message}),
            ],
          });
      });
    return () => leaving.abort();
  }, []);
  return counted.lines.map((line) => html`<p key=${line} role="status">${line}</p>`);
}
