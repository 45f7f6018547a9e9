import {openSocket} from "../../lib/api.js";
import {unpacked} from "../../lib/packed.js";

const FIRST_WAIT_MS = 400;
const LONGEST_WAIT_MS = 8000;
/** The server sends a message at least every two seconds; a connection that is silent for longer is dead. */
const SILENCE_MS = 5000;
/** A large snapshot on a slow network is one message, so each silent connection gets more time than the last. */
const LONGEST_SILENCE_MS = 60_000;
/** The close code for a run that does not exist. */
const NO_SUCH_RUN = 4404;

/**
 * The WebSocket of a run. It reconnects by itself and resumes after the newest folded seq.
 *
 * `after()` gives that seq, or null before the first snapshot; `onMessage` takes what the server
 * sends, `onState` gets "connecting", "open", "stalled" while the server itself cannot read the
 * run, "waiting", or "gone" when there is no such run.
 *
 * A connection may die without notice. The server therefore sends heartbeats, each of which is answered,
 * and a connection that is silent for five seconds is closed.
 */
export class RunStream {
  constructor({url, after, onMessage, onState}) {
    this.url = url;
    this.after = after;
    this.onMessage = onMessage;
    this.onState = onState;
    this.failures = 0;
    /** How many connections in a row were closed before their first message. */
    this.silences = 0;
    this.socket = null;
    this.timer = null;
    this.silence = 0;
    /** Settles when the last message that takes a while to unpack is taken. @type {Promise<void> | null} */
    this.unpacking = null;
  }

  /** Whether it is open or about to reconnect. */
  get isOpen() {
    return this.socket !== null || this.timer !== null;
  }

  open() {
    clearTimeout(this.timer ?? undefined);
    this.timer = null;
    this.onState("connecting");
    const socket = openSocket(this.#address());
    this.socket = socket;
    this.unpacking = null;
    this.#listen();
    socket.addEventListener("message", ({data}) => {
      if (socket !== this.socket) return;
      this.failures = 0;
      this.silences = 0;
      this.#listen();
      if (typeof data === "string" && this.unpacking === null) this.#take(JSON.parse(data));
      else this.#takeInTurn(socket, data);
    });
    socket.addEventListener("close", ({code}) => {
      if (socket !== this.socket) return;
      clearTimeout(this.silence);
      if (code === NO_SUCH_RUN) this.onState("gone");
      else this.#retry();
    });
  }

  /** Reconnect after the newest folded seq, because frames are missing. */
  resume() {
    this.#drop();
    this.open();
  }

  close() {
    clearTimeout(this.timer ?? undefined);
    this.timer = null;
    this.#drop();
  }

  /** A first state comes compressed; what comes after it waits for it. */
  #takeInTurn(socket, data) {
    const before = this.unpacking;
    const mine = Promise.all([typeof data === "string" ? JSON.parse(data) : unpacked(data), before])
      .then(
        ([message]) => {
          if (socket === this.socket) this.#take(message);
        },
        () => socket.close(),
      )
      .finally(() => {
        if (this.unpacking === mine) this.unpacking = null;
      });
    this.unpacking = mine;
  }

  #take(message) {
    if (message.type !== "heartbeat") {
      this.onState("open");
      this.onMessage(message);
      return;
    }
    this.socket?.send('{"type": "heartbeat"}');
    this.onState(message.stalled ? "stalled" : "open");
  }

  /** Wait for the next message for a limited time. */
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
    // Spread out, so that many pages do not reconnect at the same moment.
    this.timer = setTimeout(() => this.open(), wait * (0.5 + Math.random() / 2));
  }

  #address() {
    const url = new URL(this.url);
    const after = this.after();
    if (after !== null) url.searchParams.set("after", after);
    return url;
  }
}
