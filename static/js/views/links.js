import {html} from "../lib/html.js";
import {parseId} from "../model/format.js";
import {Name} from "./mark.js";

/** What follows an address: what is *picked* ("pod=shop/web-3") and, while the past is shown, the moment. */
function query(board, picked = "") {
  const told = [picked, board.past.value ? `seq=${board.model.seq}` : ""].filter(Boolean);
  return told.length > 0 ? `?${told.join("&")}` : "";
}

/** The page of a node, at the moment shown. */
export function nodeHref(board, name) {
  return `${board.nodesUrl}${encodeURIComponent(name)}/${query(board)}`;
}

/** The page of the pod "shop/web-3", at the moment shown. */
export function podHref(board, podKey) {
  return `${board.podsUrl}${podKey}/${query(board)}`;
}

/** The page of volumes at the moment shown, with the claim "shop/data" picked where one is named. */
export function volumesHref(board, claimKey = "") {
  return `${board.volumesUrl}${query(board, claimKey && `claim=${claimKey}`)}`;
}

/** The board or the state machines at the moment shown, with the pod "shop/web-3" picked. */
export function withPod(board, url, podKey) {
  return `${url}${query(board, `pod=${podKey}`)}`;
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
