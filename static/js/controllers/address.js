import {parseSeq} from "../model/timeline.js";

/** What of the page stands in its address, so that a reload comes back to the same place. */
export class Address {
  constructor() {
    const query = new URLSearchParams(location.search);
    this.seq = parseSeq(query.get("seq") ?? "");
    this.pod = query.has("pod") ? `pod/${query.get("pod")}` : null;
  }

  write({pod, seq}) {
    replaceQuery({seq, pod: pod ? pod.slice("pod/".length) : null});
  }
}

/** The address of a pod's own page, whose path names the pod. */
export class PodAddress extends Address {
  constructor(pod) {
    super();
    this.pod = pod;
    this.attempt = parseSeq(new URLSearchParams(location.search).get("attempt") ?? "");
  }

  write({seq}) {
    super.write({pod: null, seq});
  }

  writeAttempt(attempt) {
    replaceQuery({attempt});
  }
}

/** The address of a page that follows objects, which names those that somebody has picked. */
export class PickedAddress extends Address {
  constructor() {
    super();
    const query = new URLSearchParams(location.search);
    this.claim = query.has("claim") ? `claim/${query.get("claim")}` : null;
    this.volume = query.has("volume") ? `volume/${query.get("volume")}` : null;
  }

  writePicked(claim, volume) {
    replaceQuery({
      claim: claim && claim.slice("claim/".length),
      volume: volume && volume.slice("volume/".length),
    });
  }
}

function replaceQuery(values) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(values)) {
    if (value === null || value === undefined) query.delete(name);
    else query.set(name, value);
  }
  const search = query.toString().replaceAll("%2F", "/");
  history.replaceState(null, "", search ? `?${search}` : location.pathname);
}
