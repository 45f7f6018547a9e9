import {useEffect, useRef, useState} from "preact/hooks";

import {html} from "../../lib/html.js";
import {gettext} from "../../lib/words.js";
import {matching} from "../../model/palette/palette.js";

const LIST = "palette-list";

/** The dialog of the command palette. `offered` makes the entries for what was typed; `onClose` takes it away. */
export function Palette({offered, onClose}) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const [query, setQuery] = useState("");
  const [place, setPlace] = useState(0);
  useEffect(() => dialog.current?.showModal(), []);
  const entries = matching(offered(query), query);
  const chosen = Math.min(place, entries.length - 1);
  const go = (entry) => {
    dialog.current?.close();
    if (entry.run) entry.run();
    else location.assign(entry.href());
  };
  const move = (event) => {
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (step && entries.length > 0) setPlace((chosen + step + entries.length) % entries.length);
    else if (event.key === "Enter" && entries[chosen]) go(entries[chosen]);
    else return;
    event.preventDefault();
  };
  const write = (event) => {
    setQuery(event.currentTarget.value);
    setPlace(0);
  };
  return html`
    <dialog class="dialog palette" ref=${dialog} aria-label=${gettext("Go somewhere, or do something")} onClose=${onClose}>
      <input class="pick" type="search" role="combobox" aria-label=${gettext("Page, object, event number or command")} aria-expanded="true"
        aria-controls=${LIST} aria-activedescendant=${entries[chosen] && `${LIST}-${chosen}`} placeholder=${gettext("Page, object, event number or command")}
        autocomplete="off" spellcheck=${false} value=${query} onInput=${write} onKeyDown=${move} />
      <ul id=${LIST} role="listbox" aria-label=${gettext("What matches")}>
        ${entries.map(
          (
            entry,
            at,
          ) => html`<li key=${`${entry.about} ${entry.title}`} id=${`${LIST}-${at}`} role="option" aria-selected=${String(at === chosen)}
            onPointerMove=${() => setPlace(at)} onClick=${() => go(entry)}><span class="cut" title=${entry.title}>${entry.title}</span><small>${entry.about}</small></li>`,
        )}
      </ul>
      <p class="small soft" role="status">${entries.length === 0 && gettext("Nothing here has this name.")}</p>
    </dialog>`;
}
