/**
 * Where pages get their data from: the only module that asks the server for anything (ESLint refuses `fetch`, sockets and
 * requests elsewhere), so that another source can take its place.
 */
import {gettext} from "./words.js";
import {failureOf} from "../model/shared/failure.js";

/** After this time no response will come: the connection may be dead at the other end. */
const LONGEST_READ_MS = 60_000;
const LONGEST_WRITE_MS = 30_000;

/** A failed request; see failureOf. */
class ApiError extends Error {
  constructor({status, message, again}) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.again = again;
  }
}

/** The REST interface of one run. Paths are relative to /api/v1/runs/<id>/. */
export class RunApi {
  constructor(runId) {
    this.base = `/api/v1/runs/${encodeURIComponent(runId)}/`;
  }

  /** Address of a resource of this run, for a link. */
  url(path, params = {}) {
    const query = new URLSearchParams();
    for (const [key, value] of Object.entries(params)) {
      if (value !== undefined && value !== null && value !== "") query.set(key, value);
    }
    return `${this.base}${path}${query.size > 0 ? `?${query}` : ""}`;
  }

  get(path, params, signal) {
    return request(this.url(path, params), {signal, read: asJson});
  }

  /**
   * A resource that is sent as lines of JSON: `onPart` is called with each as it arrives, and may be waited for. Raises
   * ApiError for a failure, also for one that the server reports after the first line, or after `longestMs`.
   */
  parts(path, params, signal, onPart, {longestMs = LONGEST_READ_MS} = {}) {
    const read = (response) => readLines(response.body, onPart);
    return request(this.url(path, params), {signal, read, longestMs});
  }

  /** A resource that is not JSON. */
  text(path, params, signal) {
    return request(this.url(path, params), {signal, read: (response) => response.text()});
  }

  /** `isRepeatable` is whether the request has the same effect when it is processed twice. */
  post(path, body, options = {}) {
    return this.#send("POST", path, body, options);
  }

  patch(path, body) {
    return this.#send("PATCH", path, body, {isRepeatable: true});
  }

  /** Its answer has no content. */
  delete(path, options = {}) {
    return this.#send("DELETE", path, undefined, {...options, read: () => null});
  }

  #send(method, path, body, {isRepeatable = false, longestMs = LONGEST_WRITE_MS, read = asJson}) {
    const headers = {"Content-Type": "application/json", "X-CSRFToken": csrfToken()};
    return request(
      this.url(path),
      {read, isRepeatable, longestMs},
      {
        method,
        headers,
        body: JSON.stringify(body),
      },
    );
  }
}

/** The JSON at an address, or null if it cannot be read. */
export async function readJson(url) {
  const response = await fetch(url).catch(() => null);
  return response?.ok ? response.json() : null;
}

/** The text at an address, or null if it cannot be read. */
export async function readText(url) {
  const response = await fetch(url).catch(() => null);
  return response?.ok ? response.text() : null;
}

/** The file at an address as a `data:` address, or "" if it cannot be read. @returns {Promise<string>} */
export async function readDataUrl(url) {
  const response = await fetch(url).catch(() => null);
  if (!response?.ok) return "";
  const file = await response.blob();
  return new Promise((resolve) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => resolve("");
    reader.readAsDataURL(file);
  });
}

/** The address of the WebSocket of a run, for a page at this location. */
export function streamUrl(runId, {protocol, host}) {
  return `${protocol === "https:" ? "wss:" : "ws:"}//${host}/ws/runs/${encodeURIComponent(runId)}/`;
}

/** Connect to a stream of messages, which may be compressed where `unpacked` can read them. @param {string | URL} url */
export function openSocket(url) {
  const address = new URL(url);
  if ("DecompressionStream" in globalThis) address.searchParams.set("packed", "deflate");
  const socket = new WebSocket(address);
  socket.binaryType = "arraybuffer";
  return socket;
}

/**
 * Send a form with its files to where it says. `onSent` hears how much has been sent, of what; `onText` is called with the
 * request each time that more of the answer has come, `onEnd` when all of it has, `onFail` when no server was reached.
 *
 * @param {HTMLFormElement} form
 * @param {{accept: string, onSent: (loaded: number, total: number) => void, onText: (request: XMLHttpRequest) => void,
 *   onEnd: (request: XMLHttpRequest) => void, onFail: () => void}} how
 */
export function sendForm(form, {accept, onSent, onText, onEnd, onFail}) {
  // Only this tells how much has been sent.
  const sending = new XMLHttpRequest();
  sending.upload.onprogress = ({loaded, total}) => onSent(loaded, total);
  sending.onprogress = () => onText(sending);
  sending.onload = () => onEnd(sending);
  sending.onerror = onFail;
  sending.open("POST", form.action);
  sending.setRequestHeader("Accept", accept);
  sending.send(new FormData(form));
}

const UNREADABLE = gettext("The server's response could not be read. Reload the page.");

const asJson = (response) => response.json();

/**
 * Fetch and read it. Raises ApiError, and AbortError when `signal` is aborted.
 *
 * @param {string} url
 * @param {{signal?: AbortSignal, read: (response: Response) => any, isRepeatable?: boolean, longestMs?: number}} how
 * @param {RequestInit} [options]
 */
async function request(url, {signal, read, isRepeatable = true, longestMs = LONGEST_READ_MS}, options = {}) {
  const timeout = AbortSignal.timeout(longestMs);
  /** @type {RequestInit} */
  const fetching = {
    credentials: "same-origin",
    ...options,
    signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
  };
  try {
    const response = await fetch(url, fetching);
    if (response.ok) return await read(response);
    const retryAfter = response.headers.get("Retry-After");
    throw new ApiError(
      failureOf({
        status: response.status,
        message: await refusal(response),
        retryAfter,
        isRepeatable,
      }),
    );
  } catch (error) {
    if (error instanceof SyntaxError) throw new ApiError(failureOf({status: 500, message: UNREADABLE, isRepeatable}));
    if (!["TypeError", "TimeoutError"].includes(error.name)) throw error;
    throw new ApiError(failureOf({isTimeout: error.name === "TimeoutError", isRepeatable}));
  }
}

/** Read lines of JSON. A line with a problem reports the failure of the rest. */
async function readLines(body, onPart) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const {value, done} = await reader.read();
    text += value ?? "";
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) await takePart(JSON.parse(line), onPart);
    if (done) return;
  }
}

function takePart(part, onPart) {
  if (part.problem) {
    throw new ApiError(failureOf({status: 500, message: part.problem.detail, isRepeatable: true}));
  }
  return onPart(part);
}

/** What the problem details (RFC 9457) of the response say, or "". */
async function refusal(response) {
  const text = await response.text();
  try {
    const {detail} = JSON.parse(text);
    return typeof detail === "string" ? detail : "";
  } catch {
    return "";
  }
}

function csrfToken() {
  // Over HTTPS its name says that no other host has set it.
  const found = document.cookie.match(/(?:^|; )(?:__Host-)?csrftoken=([^;]*)/);
  if (found) return found[1];
  /** @type {HTMLMetaElement | null} */
  const meta = document.querySelector("meta[name=csrf-token]");
  return meta?.content ?? "";
}
