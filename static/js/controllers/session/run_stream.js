const FIRST_WAIT_MS = 400;
const LONGEST_WAIT_MS = 8000;
/** The server says something every two seconds at least; a connection that is silent for so long is dead. */
const SILENCE_MS = 5000;
/** A large snapshot over a slow line is one message: after a silent connection the next gets longer. */
const LONGEST_SILENCE_MS = 60_000;
/** The close code of a server that knows no such run. */
const NO_SUCH_RUN = 4404;

/**
 * The WebSocket of a run. It reconnects by itself and continues after the newest seq that was folded.
 *
 * `after()` gives that seq, or null before the first snapshot; `onMessage` takes what the server
 * sends, `onState` gets "connecting", "open", "stalled" while the server itself cannot read the
 * run, "waiting", or "gone" when there is no such run.
 *
 * A connection may die without notice at either end. So the server sends heartbeats, each of which is
 * answered, and a connection that was silent for five seconds is closed.
 */
export class RunStream {
  constructor({url, after, onMessage, onState}) {
    this.url = url;
    this.after = after;
    this.onMessage = onMessage;
    this.onState = onState;
    this.failures = 0;
    /** How many connections in a row were given up before they said anything. */
    this.silences = 0;
    this.socket = null;
    this.timer = null;
    this.silence = null;
  }

  /** Whether it was opened and not closed since. */
  get isOpen() {
    return this.socket !== null || this.timer !== null;
  }

  open() {
    clearTimeout(this.timer);
    this.timer = null;
    this.onState("connecting");
    const socket = new WebSocket(this.#address());
    this.socket = socket;
    this.#listen();
    socket.addEventListener("message", ({data}) => {
      if (socket !== this.socket) return;
      this.failures = 0;
      this.silences = 0;
      this.#listen();
      this.#take(JSON.parse(data));
    });
    socket.addEventListener("close", ({code}) => {
      if (socket !== this.socket) return;
      clearTimeout(this.silence);
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
    this.timer = null;
    this.#drop();
  }

  #take(message) {
    if (message.type !== "heartbeat") {
      this.onState("open");
      this.onMessage(message);
      return;
    }
    this.socket.send('{"type": "heartbeat"}');
    this.onState(message.stalled ? "stalled" : "open");
  }

  /** Wait for the next message, but not for ever. */
  #listen() {
    clearTimeout(this.silence);
    const patience = Math.min(LONGEST_SILENCE_MS, SILENCE_MS * 2 ** this.silences);
    this.silence = setTimeout(() => {
      this.silences += 1;
      this.#drop();
      this.#retry();
    }, patience);
  }

  #drop() {
    clearTimeout(this.silence);
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
    const url = new URL(this.url);
    const after = this.after();
    if (after !== null) url.searchParams.set("after", after);
    return url;
  }
}
