/** Failed requests in words, and whether they can be repeated safely. */

/**
 * A failed request: {message, status, again}. `status` is 0 without a response.
 *
 * `again` is whether repeating the request is safe: the server certainly did nothing, or the request has the same
 * effect when it is processed twice (`isRepeatable`).
 *
 * @param {object} what
 * @param {number} [what.status]
 * @param {string} [what.message]
 * @param {string | null} [what.retryAfter] The header Retry-After.
 * @param {boolean} [what.isTimeout]
 * @param {boolean} [what.isRepeatable]
 */
export function failureOf({status = 0, message = "", retryAfter = null, isTimeout = false, isRepeatable = false}) {
  if (status === 0) return {status, again: isRepeatable, message: noAnswer(isTimeout, isRepeatable)};
  const wait = waitWords(retryAfter);
  if (status === 429) return {status, again: true, message: sentence(message || "Too many requests", wait)};
  if (status === 502 || status === 503 || status === 504) {
    // Only 503 is sent before the request is processed.
    return {
      status,
      again: status === 503 || isRepeatable,
      message: sentence(message || `kscope is starting or overloaded (${status})`, wait || "Try again in a moment."),
    };
  }
  if (status === 401)
    return {status, again: false, message: sentence(message || "You are not logged in", "Log in and try again.")};
  if (status === 403) return {status, again: false, message: forbidden(message)};
  if (status === 404) return {status, again: false, message: message || "Not found; it may have been deleted."};
  if (status >= 500)
    return {
      status,
      again: isRepeatable,
      message: message || `The server failed (${status}). See its log for the reason.`,
    };
  return {status, again: false, message: message || `The server rejected this (${status}).`};
}

function noAnswer(isTimeout, isRepeatable) {
  const what = isTimeout
    ? "The server did not answer in time."
    : "The server could not be reached: the network is down, or kscope has stopped.";
  return isRepeatable ? what : `${what} The request may have been processed: check before you send it again.`;
}

function forbidden(message) {
  if (message.startsWith("CSRF")) return "The server did not accept this page any more. Reload it and try again.";
  return sentence(message || "You are not allowed to do this", "");
}

function waitWords(retryAfter) {
  const seconds = Number(retryAfter);
  if (retryAfter === null || !Number.isFinite(seconds) || seconds < 0) return "";
  return `Try again in ${Math.ceil(seconds)} ${Math.ceil(seconds) === 1 ? "second" : "seconds"}.`;
}

function sentence(text, then) {
  const ended = /[.!?]$/.test(text) ? text : `${text}.`;
  return then ? `${ended} ${then}` : ended;
}
