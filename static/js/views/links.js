import {html} from "../lib/html.js";
import {parseId} from "../model/format.js";
import {Name} from "./mark.js";

/** "?seq=812" while the past is shown, so that a link leads to the same moment. */
function moment(board) {
  return board.past.value ? `?seq=${board.model.seq}` : "";
}

/** The page of a node, at the moment shown. */
export function nodeHref(board, name) {
  return `${board.nodesUrl}${encodeURIComponent(name)}/${moment(board)}`;
}

/** The name of a node, leading to its page. */
export function NodeLink({board, name, children}) {
  return html`<a class="named" title=${`All about node ${name}`} href=${nodeHref(board, name)}>${children ?? name}</a>`;
}

/** "shop/web-3", leading to the pod's page; a uid is all that is left of a pod that is gone. */
export function PodLink({board, podKey}) {
  const {namespace, name} = parseId(`pod/${podKey}`);
  if (!namespace) return html`<span class="mute" title=${podKey}>a pod that is gone</span>`;
  return html`<a class="named" title=${`All about ${podKey}`} href=${`${board.podsUrl}${podKey}/${moment(board)}`}><${Name} namespace=${namespace} name=${name} /></a>`;
}
