import {html} from "../../lib/html.js";
import {gettext, labelled} from "../../lib/words.js";
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
  return html`<a class=${`btn ${look}`} href=${session.href("manifest", {of: id})}>${gettext("Manifest")}</a>`;
}

/**
 * What was done about an object inside the components, at the moment shown: the newest scheduling cycle of a pod, else what
 * looks after its volumes or those of a claim, volume or node.
 */
export function InsideLink({session, id}) {
  const {kind, key} = parseId(id);
  const none = {pod: null, claim: null, volume: null};
  const tried = kind === "pod" && session.model.entities.get(id)?.attempts > 0;
  const href = tried
    ? session.href("inside-scheduler", {...none, pod: id})
    : session.href("inside-volumes", {...none, ...(kind === "node" ? {node: key} : {[kind]: id})});
  const words = tried
    ? gettext("Its newest scheduling cycle, step by step")
    : gettext("What was done about its volumes, step by step");
  return html`<a class="btn" href=${href} title=${words}>${gettext("Inside")}</a>`;
}

/** The scheduling cycle of a pod, by its number. */
export function CycleLink({session, cycle, pod, children}) {
  const href = session.href("inside-scheduler", {cycle, pod, seq: null});
  return html`<a href=${href} title=${gettext("Inside of cycle {cycle}", {cycle})}>${children}</a>`;
}

/** The film of a scheduling cycle of a pod: by its number, or its newest up to event `until`; at a step, if one is named. */
export function FilmLink({session, pod, cycle = null, until = null, step = null}) {
  const href = session.href("film", {cycle, until, step, pod, claim: null, seq: null});
  const title =
    cycle === null
      ? gettext("Film of the scheduling cycle of {pod}", {pod: pod.slice("pod/".length)})
      : gettext("Film of cycle {cycle}", {cycle});
  return html`<a class="film-link" href=${href} title=${title} aria-label=${title}>${gettext("Film")}</a>`;
}

/** The film of a claim, until it is bound. */
export function ClaimFilmLink({session, id}) {
  const href = session.href("film", {claim: id, pod: null, volume: null, seq: null});
  return html`<a class="btn" href=${href} title=${gettext("How it came to be bound, slowly")}>${gettext("Film")}</a>`;
}

/** A link to the page of an object, at the event shown or at event *seq*. */
export function ObjectLink({session, id, seq = null, children}) {
  const href = session.hrefOf(id, seq === null ? {} : {seq});
  return html`<a class="named" title=${gettext("Open {id}", {id})} href=${href}>${children ?? id}</a>`;
}

/** The name of a node, with a link to its page. */
export function NodeLink({session, name, children}) {
  return html`<a class="named" title=${gettext("Open node {name}", {name})} href=${nodeHref(session, name)}>${children ?? name}</a>`;
}

/** "shop/web-3" with a link to the pod's page; of a deleted pod only the uid is known. */
export function PodLink({session, podKey}) {
  const {namespace, name} = parseId(`pod/${podKey}`);
  if (!namespace) {
    const words = gettext("a deleted pod");
    return html`<span class="mute" title=${labelled(words, podKey)}>${words}</span>`;
  }
  return html`<a class="named" title=${gettext("Open pod {podKey}", {podKey})} href=${podHref(session, podKey)}><${Name} namespace=${namespace} name=${name} untitled /></a>`;
}

/** The key of a resource claim, with a link to its manifest. */
export function ClaimLink({session, id}) {
  const {namespace, name, key} = parseId(id);
  return html`<a class="named" title=${gettext("Open resource claim {key}", {key})} href=${session.hrefOf(id)}><${Name} namespace=${namespace} name=${name} untitled /></a>`;
}
