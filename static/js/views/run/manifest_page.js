import {useState} from "preact/hooks";

import {html} from "../../lib/html.js";
import {gettext} from "../../lib/words.js";
import {count, parseId, timeText} from "../../model/shared/format.js";
import {quotasShown} from "../../model/why/quotas.js";
import {TryAgain} from "../shared/try_again.js";
import {Held} from "../why/held.js";
import {Quotas} from "../why/quotas.js";
import {Trial} from "../why/trial.js";
import {Why} from "../why/why.js";
import {ChangeMenu} from "./change_menu.js";
import {Reading, RunPage, isWaiting} from "./run_page.js";

/** The pages of objects that have one of their own. */
const OWN_PAGES = {
  pod: gettext("Pod page"),
  node: gettext("Node page"),
  claim: gettext("Volumes page"),
  volume: gettext("Volumes page"),
};

/** The manifest of one object as the simulated API server holds it at the event shown. */
export function ManifestPage({session, manifest}) {
  return html`<${RunPage} session=${session}><${Body} session=${session} manifest=${manifest} /><//>`;
}

function Body({session, manifest}) {
  const {kind, namespace, name} = parseId(manifest.id);
  if (isWaiting(session)) {
    return html`<main class="page"><h1>${manifest.id}</h1><${Reading} session=${session} /></main>`;
  }
  const reading = manifest.reading.value;
  return html`
    <main class="page manifestpage">
      <div class="pagehead"><h1>${namespace && html`<span class="ns">${namespace}/</span>`}${name}</h1><span class="badge">${kind}</span>
        <span class="small mute" role="status">${gettext("manifest {when}", {when: when(session)})}</span>
        <div class="end">${OWN_PAGES[kind] && html`<a class="btn" href=${session.hrefOf(manifest.id)}>${OWN_PAGES[kind]}</a>`}
          <${ChangeMenu} session=${session} id=${manifest.id} />
          <a class="btn" href=${session.href("timeline", {object: manifest.id})}>${gettext("Events")}</a>
          ${reading.text && html`<${Copy} text=${reading.text} />`}
          <a class="btn" href=${manifest.url("yaml")}>YAML</a><a class="btn" href=${manifest.url("json")}>JSON</a></div></div>
      <div class="whyof"><${Held} session=${session} id=${manifest.id} /><${Trial} session=${session} id=${manifest.id} /><${Why} session=${session} id=${manifest.id} level="h2" />
        <${Quotas} session=${session} ids=${quotasShown(manifest.id, session.model.entities)} /></div>
      <${Text} reading=${reading} id=${manifest.id} retry=${() => manifest.retry()} session=${session} />
    </main>`;
}

function when(session) {
  const {seq, past} = session.place;
  return past
    ? gettext("after event {seq}, at {at}", {seq: count(seq), at: timeText(session.model.at)})
    : gettext("as it is now");
}

function Text({session, reading: {status, text, message}, id, retry}) {
  if (status === "ready")
    return html`<pre class="manifest" tabindex="0" aria-label=${gettext("Manifest of {id}", {id})}>${text}</pre>`;
  if (status === "missing")
    return html`<p class="small soft">${session.place.past ? gettext("{id} is not in the cluster at {time}.", {id, time: timeText(session.model.at)}) : gettext("{id} is not in the cluster now.", {id})}</p>`;
  if (status === "loading") return html`<p class="small mute" role="status">${gettext("Reading the manifest…")}</p>`;
  return html`<p class="small tinted f-stuck" role="alert">${message} <${TryAgain} retry=${retry} /></p>`;
}

function Copy({text}) {
  const [copied, setCopied] = useState("");
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(text);
  };
  // Browsers offer the clipboard only to secure origins.
  return (
    navigator.clipboard &&
    html`<button class="btn" onClick=${copy}>${copied === text ? gettext("Copied") : gettext("Copy")}</button>`
  );
}
