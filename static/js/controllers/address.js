import {changedSearch, parsePlace} from "../model/place.js";

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
}
