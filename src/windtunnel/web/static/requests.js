// Requests to this server, and what can go wrong.

/** The server refuses the request; `status` says why. */
export class Refused extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/** There is no session: the personal link has to be opened again. */
export class SignedOut extends Error {}

/** The server cannot be reached or is busy: try again later. */
export class Unreachable extends Error {}

const TIMEOUT_MS = 15_000;

async function request(path, options) {
  let response;
  try {
    response = await fetch(path, {credentials: "same-origin", signal: AbortSignal.timeout(TIMEOUT_MS), ...options});
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Unreachable("The server cannot be reached.");
  }
  if (response.status === 401) throw new SignedOut("Open your personal link again.");
  if (response.status >= 500 || response.status === 429 || response.status === 408) {
    throw new Unreachable(`The server responded with status ${response.status}.`);
  }
  const body = await response.json().catch(() => null);
  if (!response.ok) {
    throw new Refused(messageOf(body) || `The server refused the request with status ${response.status}.`, response.status);
  }
  return body;
}

/** The text of an error: `detail` is a sentence, or a list of what is wrong with the fields. */
function messageOf(body) {
  const detail = body?.detail;
  return Array.isArray(detail) ? detail.map((problem) => problem.msg).join("; ") : detail;
}

/** The JSON of a path. */
export const get = (path, options = {}) => request(path, options);

/** Post JSON and return the JSON of the answer. */
export function post(path, body, headers = {}) {
  return request(path, {
    method: "POST", headers: {"Content-Type": "application/json", ...headers}, body: JSON.stringify(body),
  });
}

/** A path with a query; parameters that are undefined are omitted. */
export function withQuery(path, parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}
