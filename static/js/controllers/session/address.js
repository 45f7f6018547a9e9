import {changedSearch, hrefInRun, parsePlace} from "../../model/run/place.js";

/** The address of a page of a run. It names the event shown and the selection, so that a reload restores both. */
export class Address {
  /** On a page about one pod, `pod` is its id; there the path names the pod, not the query. */
  /** @param {{pod?: string | null}} [own] */
  constructor({pod = null} = {}) {
    this.own = pod;
    Object.assign(this, this.read());
  }

  /** The place that the address names: {seq, pod, claim, volume, attempt}. */
  read() {
    const place = parsePlace(location.search);
    return {...place, pod: this.own ?? place.pod};
  }

  /** Write changes. After a jump the browser's back button returns to the previous place. */
  write(changes, {isJump = false} = {}) {
    const search = changedSearch(location.search, this.own ? {...changes, pod: null} : changes);
    if (search === location.search) return;
    const url = search || location.pathname;
    if (isJump) history.pushState(null, "", url);
    else history.replaceState(null, "", url);
  }

  /** The query of this page, with its question mark, or "". */
  get search() {
    return location.search;
  }

  /** The address of this page with something changed. */
  changed(changes) {
    return changedSearch(location.search, changes);
  }

  /** The address of this page in another run. */
  inRun(run, selection) {
    return hrefInRun(run, location, this.own ? {} : selection);
  }

  /** The value of `name` in the query, or "". */
  query(name) {
    return new URLSearchParams(location.search).get(name) ?? "";
  }

  /** The id of the place on the page that the address names, or "". */
  get anchor() {
    return location.hash.slice(1);
  }

  /** Leave for another page. */
  open(href) {
    location.assign(href);
  }
}
