import {html} from "../../lib/html.js";
import {parseId} from "../../model/shared/format.js";
import {Name} from "./mark.js";

/** The page of a node, at the moment shown. */
function nodeHref(session, name) {
  return session.href("node", {of: name});
}

/** The page of the pod "shop/web-3", at the moment shown. */
export function podHref(session, podKey) {
  return session.href("pod", {of: podKey});
}

/** The page of volumes at the moment shown, with the claim "shop/data" selected if given. */
export function volumesHref(session, claimKey = "") {
  return session.href("volumes", claimKey ? {claim: `claim/${claimKey}`, volume: null} : {});
}

/** The manifest of the object of this id, at the moment shown. */
export function ManifestLink({session, id, look = ""}) {
  return html`<a class=${`btn ${look}`} href=${session.href("manifest", {of: id})}>Manifest</a>`;
}

/** What the components that look after the volumes of an object did, at the moment shown: of a claim, pod, volume or node. */
export function InsideLink({session, id}) {
  const {kind, key} = parseId(id);
  const place = kind === "node" ? {node: key} : {[kind]: id};
  const href = session.href("inside-volumes", {pod: null, claim: null, volume: null, ...place});
  return html`<a class="btn" href=${href} title="What was done about its volumes, step by step">Inside</a>`;
}

/** A link to the page of an object, at the event shown or at event *seq*. */
export function ObjectLink({session, id, seq = session.place.seq, children}) {
  const href = session.hrefOf(id, seq === session.place.seq ? {} : {seq});
  return html`<a class="named" title=${`Open ${id}`} href=${href}>${children ?? id}</a>`;
}

/** The name of a node, with a link to its page. */
export function NodeLink({session, name, children}) {
  return html`<a class="named" title=${`Open node ${name}`} href=${nodeHref(session, name)}>${children ?? name}</a>`;
}

/** "shop/web-3" with a link to the pod's page; of a deleted pod only the uid is known. */
export function PodLink({session, podKey}) {
  const {namespace, name} = parseId(`pod/${podKey}`);
  if (!namespace) return html`<span class="mute" title=${podKey}>a deleted pod</span>`;
  return html`<a class="named" title=${`Open pod ${podKey}`} href=${podHref(session, podKey)}><${Name} namespace=${namespace} name=${name} /></a>`;
}

/** The key of a resource claim, with a link to its manifest. */
export function ClaimLink({session, id}) {
  const {namespace, name, key} = parseId(id);
  return html`<a class="named" title=${`Open resource claim ${key}`} href=${session.hrefOf(id)}><${Name} namespace=${namespace} name=${name} /></a>`;
}
