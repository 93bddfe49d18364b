import { show } from "@uncaged/workflow/internal";
import { WorkflowError } from "@uncaged/workflow/host";

/**
 * The origins whose pages may use the API, each as a browser sends it.
 *
 * @throws WorkflowError `BAD_ORIGIN` (usage) for one that no browser sends.
 */
export function originsOf(given: readonly string[]): ReadonlySet<string> {
  return new Set(
    given.map((origin) => {
      const url = URL.parse(origin);
      const isWeb = url?.protocol === "http:" || url?.protocol === "https:";
      if (isWeb && url.href === `${url.origin}/`) return url.origin;
      const message = `${show(origin)} is no origin`;
      const hint = "give the scheme, the host and the port of a page: http://localhost:5173";
      throw WorkflowError.usage("BAD_ORIGIN", message, hint);
    }),
  );
}

/** The origin of the page that sends a request, when it is one of those that may. */
export function guestOf(headers: Headers, origins: ReadonlySet<string>): string | null {
  const origin = headers.get("origin");
  return origin !== null && origins.has(origin) ? origin : null;
}

/** The answer to a guest's question whether it may send a request, which has no token yet. */
export const preflightAnswer = ({ method, headers }: Request): Response | null =>
  method === "OPTIONS" && headers.has("access-control-request-method")
    ? new Response(null, { status: 204, headers: allowed })
    : null;

const allowed = {
  "Access-Control-Allow-Methods": "GET, POST, DELETE",
  "Access-Control-Allow-Headers": "Authorization, Content-Type, Last-Event-ID",
  // A page of the internet asks whether it may reach a program of this machine.
  "Access-Control-Allow-Private-Network": "true",
  "Access-Control-Max-Age": "600",
};

/** Lets a guest's page read a response. */
export function shareWith(guest: string, { headers }: Response): void {
  headers.set("Access-Control-Allow-Origin", guest);
  headers.set("Access-Control-Expose-Headers", "Link, X-Total-Count");
  headers.set("Cross-Origin-Resource-Policy", "cross-origin");
}
