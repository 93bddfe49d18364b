import { WorkflowError } from "@uncaged/workflow";

/**
 * Thrown for a redirect that is not followed. The message names only origins, because a path or a query may contain a
 * secret.
 */
export class RedirectError extends WorkflowError {
  constructor(problem: string, hint: string) {
    super({ code: "REDIRECT_REFUSED", kind: "failed", message: problem, hint });
    this.name = "RedirectError";
  }
}

const redirects = new Set([301, 302, 303, 307, 308]);
// The limit of the Fetch standard.
const mostRedirects = 20;
const bodyHeaders = ["encoding", "language", "location", "type", "length"];
const credentialName =
  /authoriz|authentic|\bauth\b|cookie|token|secret|key\b|passw|credential|session|signature/i;

/** Options of a call. `redirect: "error"` and `"manual"` leave redirects to the caller. */
export type HttpInit = RequestInit & {
  /** Whether the call carries a credential. By default, the header names and a user in the URL determine this. */
  hasCredential?: boolean;
};

/**
 * Calls `fetch` without leaking a call's headers or body to another origin (scheme, host and port). Within the origin,
 * redirects are followed as in the Fetch standard. A redirect to another origin is followed without any of the call's
 * headers, which stay removed even if a later redirect returns to the first origin. For a call with a body or a
 * credential, a redirect to another origin is an error.
 *
 * @throws RedirectError for a redirect that is not followed, and errors of `fetch`.
 */
export async function fetchWithinOrigin(
  url: string | URL,
  { hasCredential, ...given }: HttpInit = {},
): Promise<Response> {
  if (given.redirect === "error" || given.redirect === "manual") return await fetch(url, given);
  const init = { ...given, redirect: "manual" as const, headers: new Headers(given.headers) };
  let from = new URL(url);
  const isSecret = hasCredential ?? (hasUser(from) || carriesCredential(init.headers));
  const hadBody = given.body !== undefined && given.body !== null;
  for (let followed = 0; ; followed += 1) {
    const response = await fetch(from, init);
    const location = redirects.has(response.status) ? response.headers.get("location") : null;
    if (location === null) return response;
    await response.body?.cancel();
    if (followed === mostRedirects) {
      const problem = `${from.origin}: redirected more than ${mostRedirects} times`;
      throw new RedirectError(problem, "use the address that the redirects lead to");
    }
    const to = targetOf(location, from);
    if (to.origin !== from.origin) {
      if (isSecret || hadBody) throw leaves(from, to, hadBody ? "body" : "credentials");
      init.headers = new Headers();
    }
    adapt(init, response.status, from);
    from = to;
  }
}

function targetOf(location: string, from: URL): URL {
  const to = URL.canParse(location, from.href) ? new URL(location, from.href) : null;
  if (to?.protocol !== "http:" && to?.protocol !== "https:") {
    const problem = `${from.origin}: redirected to an address that is not http`;
    throw new RedirectError(problem, "check the address: its server is not set up to be called");
  }
  const isSame = to.origin === from.origin;
  // Replaces a user that the server put into the location.
  to.username = isSame ? from.username : "";
  to.password = isSame ? from.password : "";
  return to;
}

const hasUser = ({ username, password }: URL): boolean => username !== "" || password !== "";

function leaves(from: URL, to: URL, what: "body" | "credentials"): RedirectError {
  const problem = `${from.origin} redirects to ${to.origin}: the call's ${what} must not go to another origin`;
  return new RedirectError(problem, `call ${to.origin} directly if you trust it`);
}

/** Returns the request after a redirect, as the Fetch standard defines it. */
function adapt(init: RequestInit & { headers: Headers }, status: number, { origin }: URL): void {
  const method = (init.method ?? "GET").toUpperCase();
  const becomesGet =
    status === 303 ? method !== "GET" && method !== "HEAD" : status < 303 && method === "POST";
  if (becomesGet) {
    Object.assign(init, { method: "GET", body: undefined });
    for (const name of bodyHeaders) init.headers.delete(`content-${name}`);
  } else if (init.body instanceof ReadableStream) {
    const problem = `${origin}: redirected a call whose body can be sent only once`;
    throw new RedirectError(problem, "use the address that the redirect leads to");
  }
}

const carriesCredential = (headers: Headers): boolean =>
  [...headers.keys()].some((name) => credentialName.test(name));
