import {changedSearch, parsePlace} from "../model/run/place.js";

/**
 * The page, its query and the place on it that stand behind the # of an address: "#/triage/?seq=3#cause-1" is
 * {path: "/triage/", search: "?seq=3", anchor: "cause-1"}.
 */
export function placeIn(hash) {
  const [place, anchor = ""] = hash
    .replace(/^#(?!\/).*/, "")
    .slice(1)
    .split("#");
  const [path, ...rest] = place.split("?");
  return {path: path || "/", search: rest.length > 0 ? `?${rest.join("?")}` : "", anchor};
}

/** The address of a page in the file: what is in the place of controllers/session/address.js, with the same names. */
export class Address {
  /** @param {{pod?: string | null}} [own] */
  constructor({pod = null} = {}) {
    this.own = pod;
    Object.assign(this, this.read());
  }

  read() {
    const place = parsePlace(this.search);
    return {...place, pod: this.own ?? place.pod};
  }

  write(changes, {isJump = false} = {}) {
    const address = this.changed(this.own ? {...changes, pod: null} : changes);
    if (address === this.changed({})) return;
    if (isJump) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
  }

  get search() {
    return placeIn(location.hash).search;
  }

  changed(changes) {
    return `#${placeIn(location.hash).path}${changedSearch(this.search, changes)}`;
  }

  /** There is one run in a file. */
  inRun() {
    return this.changed({});
  }

  get anchor() {
    return placeIn(location.hash).anchor;
  }

  query(name) {
    return new URLSearchParams(this.search).get(name) ?? "";
  }

  open(href) {
    location.assign(href);
  }
}
