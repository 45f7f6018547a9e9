import {useState} from "preact/hooks";

import {html} from "../../lib/html.js";
import {gettext} from "../../lib/words.js";
import {commandOf, failuresOf} from "../../model/run/failures.js";
import {READ_ONLY} from "../../model/shared/rights.js";

/** A form that lets something of this object fail on purpose. The command is confirmed before it is sent. */
export function Failures({session, id}) {
  const [chosen, choose] = useState("");
  const choices = failuresOf(id, session.model);
  if (session.place.past || choices.length === 0) return null;
  const choice = choices.find(({text}) => text === chosen);
  return html`
    <span class="fails">
      <select class="pick" aria-label=${gettext("Let something fail")} value=${choice ? chosen : ""} disabled=${!session.mayChange}
        title=${session.mayChange ? undefined : READ_ONLY} onChange=${(event) => choose(event.target.value)}>
        <option value="">${gettext("Let fail…")}</option>
        ${choices.map(({text}) => html`<option key=${text} value=${text}>${text}</option>`)}</select>
      ${choice && html`<${Rest} key=${chosen} session=${session} choice=${choice} done=${() => choose("")} />`}</span>`;
}

/** What the chosen failure still asks for, and the button that sends it. */
function Rest({session, choice, done}) {
  const {asks} = choice;
  const [value, setValue] = useState(String(asks?.value ?? ""));
  const command = commandOf(choice, value);
  const send = async (event) => {
    event.preventDefault();
    if (await session.commands.send(command)) done();
  };
  return html`
    <form class="fails" onSubmit=${send}>
      ${asks && html`<label class="small soft">${asks.label} <input class="pick" type=${asks.type} min="1" required value=${value} onInput=${(event) => setValue(event.target.value)} /></label>`}
      <button class="btn" disabled=${!command} aria-haspopup="dialog">${gettext("Inject…")}</button></form>`;
}
