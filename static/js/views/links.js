import {html} from "../lib/html.js";
import {parseId} from "../model/format.js";
import {Name} from "./mark.js";

/** The page of a node, at the moment shown. */
export function nodeHref(board, name) {
  return board.href("node", {of: name});
}

/** The page of the pod "shop/web-3", at the moment shown. */
export function podHref(board, podKey) {
  return board.href("pod", {of: podKey});
}

/** The page of volumes at the moment shown, with the claim "shop/data" picked where one is named. */
export function volumesHref(board, claimKey = "") {
  return board.href("volumes", claimKey ? {claim: `claim/${claimKey}`, volume: null} : {});
}

/** The manifest of the object of this id, at the moment shown. */
export function ManifestLink({board, id, look = ""}) {
  return html`<a class=${`btn ${look}`} href=${board.href("manifest", {of: id})}>Manifest</a>`;
}

/** The name of a node, leading to its page. */
export function NodeLink({board, name, children}) {
  return html`<a class="named" title=${`All about node ${name}`} href=${nodeHref(board, name)}>${children ?? name}</a>`;
}

/** "shop/web-3", leading to the pod's page; a uid is all that is left of a pod that is gone. */
export function PodLink({board, podKey}) {
  const {namespace, name} = parseId(`pod/${podKey}`);
  if (!namespace) return html`<span class="mute" title=${podKey}>a pod that is gone</span>`;
  return html`<a class="named" title=${`All about ${podKey}`} href=${podHref(board, podKey)}><${Name} namespace=${namespace} name=${name} /></a>`;
}
