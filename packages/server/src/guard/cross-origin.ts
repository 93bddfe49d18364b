import { badOrigin } from "./errors.ts";

/**
 * Returns the origins whose pages may use the API, in the form that browsers send.
 * @throws WorkflowError `BAD_ORIGIN` (usage) for an invalid origin.
 */
export function originsOf(given: readonly string[]): ReadonlySet<string> {
  return new Set(
    given.map((origin) => {
      const url = URL.parse(origin);
      const isWeb = url?.protocol === "http:" || url?.protocol === "https:";
      if (isWeb && url.href === `${url.origin}/`) return url.origin;
      throw badOrigin(origin);
    }),
  );
}

/** Returns the origin of the page that sends a request, if that origin is allowed; else null. */
export function guestOf(headers: Headers, origins: ReadonlySet<string>): string | null {
  const origin = headers.get("origin");
  return origin !== null && origins.has(origin) ? origin : null;
}

/** Answers a preflight request from an allowed origin. Preflight requests have no token. */
export const preflightAnswer = ({ method, headers }: Request): Response | null =>
  method === "OPTIONS" && headers.has("access-control-request-method")
    ? new Response(null, { status: 204, headers: allowed })
    : null;

const allowed = {
  "Access-Control-Allow-Methods": "GET, POST, DELETE",
  "Access-Control-Allow-Headers": "Authorization, Content-Type, Last-Event-ID",
  // Lets a public page reach a local server.
  "Access-Control-Allow-Private-Network": "true",
  "Access-Control-Max-Age": "600",
};

/** Lets a page of an allowed origin read a response. */
export function shareWith(guest: string, { headers }: Response): void {
  headers.set("Access-Control-Allow-Origin", guest);
  headers.set("Access-Control-Expose-Headers", "Link, X-Total-Count");
  headers.set("Cross-Origin-Resource-Policy", "cross-origin");
}
