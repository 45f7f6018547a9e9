/** The REST interface of one run. Paths are relative to /api/runs/<id>/. */

/** A refusal by the server, with the words it gave. */
export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.name = "ApiError";
    this.status = status;
  }
}

export class RunApi {
  constructor(runId) {
    this.base = `/api/runs/${encodeURIComponent(runId)}/`;
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
    return request(this.url(path, params), {signal});
  }

  post(path, body) {
    return this.#send("POST", path, body);
  }

  patch(path, body) {
    return this.#send("PATCH", path, body);
  }

  #send(method, path, body) {
    return request(this.url(path), {
      method,
      headers: {"Content-Type": "application/json", "X-CSRFToken": csrfToken()},
      body: JSON.stringify(body),
    });
  }
}

async function request(url, options) {
  const response = await fetch(url, {credentials: "same-origin", ...options});
  if (!response.ok) throw new ApiError(response.status, await refusal(response));
  return response.json();
}

async function refusal(response) {
  const text = await response.text();
  try {
    const body = JSON.parse(text);
    return body.message ?? body.detail ?? body.error ?? JSON.stringify(body);
  } catch {
    return `the server answered ${response.status}`;
  }
}

function csrfToken() {
  const cookie = document.cookie.split("; ").find((each) => each.startsWith("csrftoken="));
  if (cookie) return cookie.slice("csrftoken=".length);
  return document.querySelector("meta[name=csrf-token]")?.content ?? "";
}
