import {changedSearch, hrefInRun, parsePlace} from "../../model/run/place.js";

/** The address of a page of a run: the event shown and what is selected, so that a reload comes back there. */
export class Address {
  /** On a page about one pod, `pod` is its id: the path names it, and the query need not. */
  constructor({pod = null} = {}) {
    this.own = pod;
    Object.assign(this, this.read());
  }

  /** The place that the address names: {seq, pod, claim, volume, attempt}. */
  read() {
    const place = parsePlace(location.search);
    return {...place, pod: this.own ?? place.pod};
  }

  /** Write what has changed. After a jump the browser's back button leads to where one was before. */
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

  /** The address of this page of another run; on a page about one pod the path names the pod already. */
  inRun(run, selection) {
    return hrefInRun(run, location, this.own ? {} : selection);
  }

  /** The value of `name` in the query, or "". */
  query(name) {
    return new URLSearchParams(location.search).get(name) ?? "";
  }

  /** Leave for another page. */
  open(href) {
    location.assign(href);
  }
}
