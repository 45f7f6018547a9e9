/** Failed requests in words, and whether they can be repeated safely. */
import {gettext, ngettext, sentences} from "../../lib/words.js";

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
  if (status === 429) return {status, again: true, message: sentence(message || gettext("Too many requests."), wait)};
  if (status === 502 || status === 503 || status === 504) {
    // Only 503 is sent before the request is processed.
    return {
      status,
      again: status === 503 || isRepeatable,
      message: sentence(
        message || gettext("kscope is starting or overloaded ({status}).", {status}),
        wait || gettext("Try again in a moment."),
      ),
    };
  }
  if (status === 401)
    return {
      status,
      again: false,
      message: sentence(message || gettext("You are not logged in."), gettext("Log in and try again.")),
    };
  if (status === 403) return {status, again: false, message: forbidden(message)};
  if (status === 404)
    return {status, again: false, message: message || gettext("Not found; it may have been deleted.")};
  if (status >= 500)
    return {
      status,
      again: isRepeatable,
      message: message || gettext("The server failed ({status}). See its log for the reason.", {status}),
    };
  return {status, again: false, message: message || gettext("The server rejected this ({status}).", {status})};
}

function noAnswer(isTimeout, isRepeatable) {
  const what = isTimeout
    ? gettext("The server did not answer in time.")
    : gettext("The server could not be reached: the network is down, or kscope has stopped.");
  const doubt = gettext("The request may have been processed: check before you send it again.");
  return sentences([what, !isRepeatable && doubt]);
}

function forbidden(message) {
  if (message.startsWith("CSRF"))
    return gettext("The server did not accept this page any more. Reload it and try again.");
  return sentence(message || gettext("You are not allowed to do this."), "");
}

function waitWords(retryAfter) {
  const seconds = Number(retryAfter);
  if (retryAfter === null || !Number.isFinite(seconds) || seconds < 0) return "";
  return ngettext("Try again in {count} second.", "Try again in {count} seconds.", Math.ceil(seconds));
}

function sentence(text, then) {
  const ended = /[.!?]$/.test(text) ? text : `${text}.`;
  return sentences([ended, then]);
}
