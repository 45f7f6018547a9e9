/**
 * The source of data of the file that plays offline, in the place of static/js/lib/api.js: the same names, answered from
 * what the document holds. Nothing is ever sent.
 */
import {answersIn} from "./recording.js";
import {NEEDS_ENGINE, Refusal} from "./refusal.js";

/** A page closes a connection that is silent for longer. */
const HEARTBEAT_MS = 2000;

/** @type {import("./answers.js").Answers | null} */
let held = null;

function answers() {
  held ??= answersIn(document);
  return held;
}

/** The REST interface of the recorded run. */
export class RunApi {
  constructor(runId) {
    this.base = `#/${runId}`;
  }

  /** There are no addresses of resources in a file. */
  url() {
    return "";
  }

  async get(path, params = {}, signal) {
    await turn();
    signal?.throwIfAborted();
    return answers().get(path, params);
  }

  async parts(path, params, signal, onPart) {
    await turn();
    signal?.throwIfAborted();
    for (const part of answers().parts(path, params)) onPart(part);
  }

  async text(path) {
    await turn();
    return answers().get(path);
  }

  async post(path, body) {
    await turn();
    return answers().post(path, body ?? {});
  }

  async patch() {
    await turn();
    throw new Refusal(NEEDS_ENGINE);
  }

  async delete() {
    await turn();
    throw new Refusal(NEEDS_ENGINE);
  }
}

/** Answers come later, as those of a server do. */
function turn() {
  return new Promise((resolve) => {
    setTimeout(resolve);
  });
}

/** Nothing beside the run is in the file. */
export async function readJson() {
  await turn();
  return null;
}

/** The same for a text. */
export async function readText() {
  await turn();
  return null;
}

/** The typefaces of the page are in it as `data:` addresses already. */
export async function readDataUrl(url) {
  await turn();
  return url.startsWith("data:") ? url : "";
}

/** The address of the stream, of which only the query is looked at. */
export function streamUrl() {
  return "recorded:stream";
}

/** A stream that sends the newest state, and then that nothing has come. @param {string | URL} url */
export function openSocket(url) {
  return new RecordedSocket(!new URL(url).searchParams.has("after"));
}

class RecordedSocket extends EventTarget {
  constructor(isFirst) {
    super();
    const first = isFirst ? () => this.#tell(answers().snapshot()) : () => this.#beat();
    this.first = setTimeout(first);
    this.timer = setInterval(() => this.#beat(), HEARTBEAT_MS);
  }

  send() {}

  close() {
    clearTimeout(this.first);
    clearInterval(this.timer);
  }

  #beat() {
    this.#tell({type: "heartbeat", stalled: false});
  }

  #tell(message) {
    this.dispatchEvent(new MessageEvent("message", {data: JSON.stringify(message)}));
  }
}

/** A form is sent to a server, of which there is none. */
export function sendForm(_form, {onFail}) {
  onFail();
}
