const FIRST_WAIT_MS = 400;
const LONGEST_WAIT_MS = 8000;
/** The close code of a server that knows no such run. */
const NO_SUCH_RUN = 4404;

/**
 * The WebSocket of a run. It comes back by itself and goes on after the newest seq that was folded.
 *
 * `after()` gives that seq, or null before the first snapshot; `onMessage` takes what the server
 * sends, `onState` is told "connecting", "open", "waiting", or "gone" when there is no such run.
 */
export class RunStream {
  constructor({runId, after, onMessage, onState}) {
    this.runId = runId;
    this.after = after;
    this.onMessage = onMessage;
    this.onState = onState;
    this.failures = 0;
    this.socket = null;
    this.timer = null;
  }

  open() {
    clearTimeout(this.timer);
    this.onState("connecting");
    const socket = new WebSocket(this.#address());
    this.socket = socket;
    socket.addEventListener("message", ({data}) => {
      if (socket !== this.socket) return;
      this.failures = 0;
      this.onState("open");
      this.onMessage(JSON.parse(data));
    });
    socket.addEventListener("close", ({code}) => {
      if (socket !== this.socket) return;
      if (code === NO_SUCH_RUN) this.onState("gone");
      else this.#retry();
    });
  }

  /** Begin anew after the newest folded seq: what came left a hole. */
  resume() {
    this.#drop();
    this.open();
  }

  close() {
    clearTimeout(this.timer);
    this.#drop();
  }

  #drop() {
    const {socket} = this;
    this.socket = null;
    socket?.close();
  }

  #retry() {
    this.onState("waiting");
    const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.failures);
    this.failures += 1;
    // Spread out, so that many pages do not come back in the same instant.
    this.timer = setTimeout(() => this.open(), wait * (0.5 + Math.random() / 2));
  }

  #address() {
    const url = new URL(`/ws/runs/${encodeURIComponent(this.runId)}/`, location.href);
    url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    const after = this.after();
    if (after !== null) url.searchParams.set("after", after);
    return url;
  }
}
