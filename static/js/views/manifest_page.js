import {useState} from "preact/hooks";

import {html} from "../lib/html.js";
import {count, moment, parseId} from "../model/format.js";
import {Reading, RunPage, isWaiting} from "./run_page.js";

const OWN_PAGES = {pod: "pod", node: "node"};

/** The manifest of one object as the simulated API server holds it at the event shown. */
export function ManifestPage({board, manifest}) {
  return html`<${RunPage} board=${board}><${Body} board=${board} manifest=${manifest} /><//>`;
}

function Body({board, manifest}) {
  const {kind, namespace, name, key} = parseId(manifest.id);
  if (isWaiting(board)) {
    return html`<main class="page"><h1>${manifest.id}</h1><${Reading} board=${board} /></main>`;
  }
  const told = manifest.told.value;
  return html`
    <main class="page manifestpage">
      <div class="pagehead"><h1>${namespace && html`<span class="ns">${namespace}/</span>`}${name}</h1><span class="badge">${kind}</span>
        <span class="small mute" role="status">manifest ${when(board)}</span>
        <div class="end">${OWN_PAGES[kind] && html`<a class="btn" href=${board.href(OWN_PAGES[kind], {of: key})}>${kind === "pod" ? "The pod" : "The node"}</a>`}
          <a class="btn" href=${board.href("timeline", {object: manifest.id})}>Its events</a>
          ${told.text && html`<${Copy} text=${told.text} />`}
          <a class="btn" href=${manifest.url("yaml")}>YAML</a><a class="btn" href=${manifest.url("json")}>JSON</a></div></div>
      <${Text} told=${told} id=${manifest.id} retry=${() => manifest.retry()} board=${board} />
    </main>`;
}

function when(board) {
  const {seq, past} = board.place;
  return past ? `after event ${count(seq)}, at ${moment(board.model.at)} s` : "as it is now";
}

function Text({board, told: {status, text, message}, id, retry}) {
  if (status === "ready")
    return html`<pre class="manifest" tabindex="0" aria-label=${`Manifest of ${id}`}>${text}</pre>`;
  if (status === "missing")
    return html`<p class="small soft">${id} is not in the cluster ${board.place.past ? `at ${moment(board.model.at)} s` : "now"}.</p>`;
  if (status === "loading") return html`<p class="small mute" role="status">Reading the manifest…</p>`;
  return html`<p class="small tinted f-stuck" role="alert">${message} <button class="btn" onClick=${retry}>Try again</button></p>`;
}

function Copy({text}) {
  const [copied, setCopied] = useState("");
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(text);
  };
  // Browsers offer the clipboard to secure origins alone.
  return (
    navigator.clipboard && html`<button class="btn" onClick=${copy}>${copied === text ? "Copied" : "Copy"}</button>`
  );
}
