import { WorkflowError } from "@uncaged/workflow/host";
import { checkBody } from "./body.ts";
import type { EntryCodes } from "./entry.ts";
import { checkSender } from "./host.ts";
import { checkToken, cookieFor, isSame } from "./token.ts";

/** What the guard of a server knows. */
export type Gate = {
  hosts: ReadonlySet<string>;
  token: string;
  port: number;
  codes: EntryCodes;
};

/**
 * Checks a request before it is routed, whatever its path: host, page, token, body. Gives an answer
 * where that is all there is to say: a browser that brings the token of the printed URL, or a code
 * that was made for it, gets its cookie and is sent on to the same place without it.
 *
 * @throws WorkflowError why the request is refused.
 */
export function admit(request: Request, gate: Gate): Response | null {
  checkSender(request.headers, gate.hosts);
  const entry = entryOf(request, gate);
  if (entry) return entry;
  checkToken(request.headers, gate.token, gate.port);
  checkBody(request);
  return null;
}

function entryOf({ method, url }: Request, { token, port, codes }: Gate): Response | null {
  const parsed = URL.parse(url);
  if (!parsed) throw badUrl();
  const { pathname, searchParams } = parsed;
  if (method !== "GET" || pathname.startsWith("/api/")) return null;
  const given = searchParams.get("token");
  const code = searchParams.get("code");
  const isKnown = (given !== null && isSame(given, token)) || (code !== null && codes.take(code));
  if (!isKnown) return null;
  for (const name of ["token", "code"]) searchParams.delete(name);
  const rest = searchParams.size > 0 ? `?${searchParams.toString()}` : "";
  // Two slashes at the beginning would name another host.
  const location = `/${pathname.replace(/^[/\\]+/, "")}${rest}`;
  return new Response(null, {
    status: 303,
    headers: { Location: location, "Set-Cookie": cookieFor(token, port) },
  });
}

function badUrl(): WorkflowError {
  return new WorkflowError({
    code: "BAD_URL",
    kind: "usage",
    message: "a request must be for a path",
    hint: "see /api/openapi.json for what there is",
  });
}

const policy = [
  "default-src 'self'",
  "img-src 'self' data:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** What every answer says: nothing is loaded from elsewhere, run inline, framed or told to others. */
const protection: Record<string, string> = {
  "Content-Security-Policy": policy,
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
};

/** Adds the headers of every answer to one. */
export function protect(response: Response): Response {
  for (const [name, value] of Object.entries(protection)) response.headers.set(name, value);
  if (!response.headers.has("Cache-Control")) response.headers.set("Cache-Control", "no-store");
  return response;
}
