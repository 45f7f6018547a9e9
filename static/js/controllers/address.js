import {parseSeq} from "../model/timeline.js";

/** What of the page stands in its address, so that a reload comes back to the same place. */
export class Address {
  constructor() {
    const query = new URLSearchParams(location.search);
    this.seq = parseSeq(query.get("seq") ?? "");
    this.pod = query.has("pod") ? `pod/${query.get("pod")}` : null;
  }

  write({pod, seq}) {
    const query = new URLSearchParams(location.search);
    set(query, "seq", seq);
    set(query, "pod", pod ? pod.slice("pod/".length) : null);
    const search = query.toString().replaceAll("%2F", "/");
    history.replaceState(null, "", search ? `?${search}` : location.pathname);
  }
}

function set(query, name, value) {
  if (value === null || value === undefined) query.delete(name);
  else query.set(name, value);
}
