/**
 * The place in a run: the event shown and the selection. Every address of a run's page is made here, so that
 * links between pages keep both.
 *
 * A place is {seq, pod, claim, volume}: the seq is null at the newest event, the others are ids such as
 * "pod/shop/web-3" or null. A page may keep more values in its address.
 */
import {gettext} from "../../lib/words.js";
import {parseId} from "../shared/format.js";
import {baseOf} from "./base.js";
import {parseSeq} from "./timeline.js";

/** The paths of the pages; a page about one object adds its name. */
const FOLDERS = {
  triage: "triage/",
  "first-look": "first-look/",
  board: "",
  "inside-scheduler": "inside/scheduler/",
  "inside-volumes": "inside/volumes/",
  film: "film/",
  machines: "machines/",
  pods: "pods/",
  volumes: "volumes/",
  nodes: "nodes/",
  timeline: "timeline/",
  compare: "compare/",
  connect: "connect/",
  pod: "pods/",
  node: "nodes/",
  manifest: "objects/",
  edit: "edit/",
  configuration: "configuration/",
};

export const SELECTED = ["pod", "claim", "volume"];

/**
 * The address of a page of a run at a place. For a page about one object, `of` names it: a
 * node's name, a pod's "shop/web-3", the id of the object of a manifest. Other values go into the query.
 *
 * @param {number} run
 * @param {string} page
 * @param {{of?: string, seq?: number | null, [more: string]: any}} [place]
 */
export function pageHref(run, page, {of = "", seq = null, ...more} = {}) {
  const path = `${baseOf(run)}${FOLDERS[page]}${of && `${of.split("/").map(encodeURIComponent).join("/")}/`}`;
  // The path of a pod's page already names the pod.
  const selection = page === "pod" ? {...more, pod: null} : more;
  return `${path}${changedSearch("", {...selection, seq})}`;
}

/** The page of an object, as {page, …} for `pageHref`; an object without a page of its own has its manifest. */
export function objectPage(id) {
  const {kind, key} = parseId(id);
  if (kind === "pod" || kind === "node") return {page: kind, of: key};
  if (kind === "claim") return {page: "volumes", claim: id, volume: null};
  if (kind === "volume") return {page: "volumes", claim: null, volume: id};
  return {page: "manifest", of: id};
}

/** The same page of another run, at its newest event, with the selection here or in `selection`. */
export function hrefInRun(run, {pathname, search}, selection = {}) {
  const removed = {seq: null, attempt: null, with: null};
  return `${pathname.replace(/^\/runs\/\d+\//, baseOf(run))}${changedSearch(search, {...removed, ...selection})}`;
}

/**
 * The place and the number of an attempt in the query of an address. `problem` is a sentence about a wrong
 * value, or "".
 */
export function parsePlace(search) {
  const query = new URLSearchParams(search);
  const seq = parseSeq(query.get("seq") ?? "");
  const problem =
    query.get("seq") && seq === null
      ? gettext("The address has seq “{get}”, which is not a whole number. The newest event is shown.", {
          get: query.get("seq"),
        })
      : "";
  const place = {seq, problem, attempt: parseSeq(query.get("attempt") ?? "")};
  for (const kind of SELECTED) place[kind] = query.get(kind) ? `${kind}/${query.get(kind)}` : null;
  return place;
}

/** A query with some of its values changed: null removes one, and ids are written without their kind. */
export function changedSearch(search, changes) {
  const query = new URLSearchParams(search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "") query.delete(name);
    else query.set(name, SELECTED.includes(name) ? withoutKind(value, name) : value);
  }
  const text = query.toString().replaceAll("%2F", "/").replaceAll("%2C", ",");
  return text && `?${text}`;
}

function withoutKind(id, kind) {
  return id.startsWith(`${kind}/`) ? id.slice(kind.length + 1) : id;
}
