import { randomBytes } from "node:crypto";
import { hostname, networkInterfaces } from "node:os";
import { parse, serialize } from "hono/utils/cookie";
import { guestOf, preflightAnswer, shareWith } from "./cross-origin.ts";
import { foreignHeader, noPath, tokenExpired } from "./errors.ts";
import type { Caller } from "./role.ts";
import { digestOf, isExpired, type Tokens } from "./tokens.ts";

export type Access = {
  /** The accepted values of `Host`, each with the origin of its pages. */
  hosts: ReadonlyMap<string, string>;
  /** Origins of other sites whose pages may use the API. */
  origins: ReadonlySet<string>;
  tokens: Tokens;
  port: number;
  codes: EntryCodes;
};

/**
 * Checks the host, page and token of every request before routing, and returns its caller. A browser with a token in
 * the URL, or with an entry code, gets a cookie and is redirected to the URL without the token or code. Pages of
 * allowed origins send the token in a header, because the cookie is only for the console.
 */
export function checkRequest(request: Request, access: Access): Response | Caller {
  const { headers } = request;
  const origin = checkHost(headers, access.hosts);
  const isGuest = guestOf(headers, access.origins) !== null;
  if (!isGuest) checkPage(headers, origin);
  const answer = isGuest ? preflightAnswer(request) : entryOf(request, access, origin);
  if (answer) return answer;
  const bearer = bearerOf(headers);
  const cookies = isGuest ? [] : cookiesOf(headers, access.port);
  const { name, role } = access.tokens.check(bearer === undefined ? cookies : [bearer]);
  return { name, role, via: bearer === undefined ? "console" : "api" };
}

function entryOf(
  { method, url }: Request,
  { tokens, port, codes }: Access,
  origin: string,
): Response | null {
  const parsed = URL.parse(url);
  if (!parsed) throw noPath();
  const { pathname, searchParams } = parsed;
  if (method !== "GET" || pathname.startsWith("/api/")) return null;
  const given = searchParams.get("token");
  const code = searchParams.get("code");
  const grant = given === null ? null : tokens.find(given);
  if (grant && isExpired(grant)) throw tokenExpired(grant.name);
  const token = grant ? given : code !== null && codes.take(code) ? tokens.own : null;
  if (token === null) return null;
  for (const name of ["token", "code"]) searchParams.delete(name);
  const rest = searchParams.size > 0 ? `?${searchParams.toString()}` : "";
  // Two leading slashes would name another host.
  const location = `/${pathname.replace(/^[/\\]+/, "")}${rest}`;
  return new Response(null, {
    status: 303,
    headers: { Location: location, "Set-Cookie": cookieFor(token, port, origin) },
  });
}

/** Returns a policy that forbids external resources, frames, and inline code except these styles. */
export const policyFor = (styles: readonly string[]): string =>
  [
    "default-src 'self'",
    ...(styles.length > 0 ? [`style-src 'self' ${styles.map(sourceOf).join(" ")}`] : []),
    "img-src 'self' data:",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");

const sourceOf = (text: string): string => `'sha256-${digestOf(text).toString("base64")}'`;

/** Headers of every response: they forbid external resources, inline scripts, frames and referrers. */
const protection: Record<string, string> = {
  "Content-Security-Policy": policyFor([]),
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
};

/** @param guest The origin of another site whose page may read the response. */
export function protect(response: Response, guest: string | null): Response {
  const { headers } = response;
  for (const [name, value] of Object.entries(protection)) {
    // A page of the console has a policy with its styles.
    if (!headers.has(name)) headers.set(name, value);
  }
  if (guest !== null) shareWith(guest, response);
  // A cache must not share responses between origins.
  response.headers.append("Vary", "Origin");
  if (!response.headers.has("Cache-Control")) response.headers.set("Cache-Control", "no-store");
  return response;
}

const loopback = ["127.0.0.1", "localhost", "[::1]"];
const everywhere = new Set(["0.0.0.0", "::", "[::]"]);

export const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);

/**
 * Returns the accepted values of `Host` for a server on this address, each with the origin of its pages. In a DNS
 * rebinding attack, the requests of a page have the host of another site.
 */
export function ownHosts(host: string, port: number): Map<string, string> {
  const names = [...loopback, bracketed(host)];
  if (everywhere.has(host)) {
    names.push(hostname());
    for (const addresses of Object.values(networkInterfaces())) {
      for (const { address } of addresses ?? []) names.push(bracketed(address));
    }
  }
  const ports = port === 80 ? ["", ":80"] : [`:${port}`];
  const hosts = names.flatMap((name) => ports.map((suffix) => name.toLowerCase() + suffix));
  return new Map(hosts.map((own) => [own, `http://${own}`]));
}

export const bracketed = (host: string): string =>
  host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;

const hostIn = (headers: Headers): string => headers.get("host")?.toLowerCase() ?? "";

/** Returns the origin of the pages of a request's host. */
function checkHost(headers: Headers, hosts: Access["hosts"]): string {
  const origin = hosts.get(hostIn(headers));
  if (origin === undefined) throw foreignHeader("FOREIGN_HOST", "Host");
  return origin;
}

/** Refuses requests from pages of other sites. */
function checkPage(headers: Headers, own: string): void {
  const origin = headers.get("origin");
  if (origin !== null && origin.toLowerCase() !== own)
    throw foreignHeader("FOREIGN_ORIGIN", "Origin");
  const site = headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin" && site !== "none") {
    throw foreignHeader("FOREIGN_ORIGIN", "Sec-Fetch-Site");
  }
}

/** Returns the name of the cookie. It contains the port, because browsers share cookies between ports. */
const cookieName = (port: number): string => `uncaged-workflow-${port}`;

const bearerOf = (headers: Headers): string | undefined =>
  /^Bearer +(\S+)$/i.exec(headers.get("authorization") ?? "")?.[1];

// A page on another port may set a cookie with the same name for a longer path, which precedes the server's cookie.
function cookiesOf(headers: Headers, port: number): string[] {
  const name = cookieName(port);
  const cookies = (headers.get("cookie") ?? "").split(";");
  return cookies.flatMap((cookie) => parse(cookie, name)[name] ?? []);
}

/** Returns the `Set-Cookie` header that authenticates a browser until it is closed. */
function cookieFor(token: string, port: number, origin: string): string {
  const secure = origin.startsWith("https:");
  const options = { httpOnly: true, sameSite: "Strict", path: "/", secure } as const;
  return serialize(cookieName(port), token, options);
}

const goodForMs = 60_000;

/**
 * Codes that authenticate one browser, once, within a minute. The command that opens a browser must not contain the
 * token, because all users of the machine can read the arguments of commands.
 */
export class EntryCodes {
  /** Expiry time of each code, in milliseconds of the process's monotonic clock. */
  readonly #open = new Map<string, number>();

  make(): string {
    const code = randomBytes(16).toString("base64url");
    this.#open.set(code, performance.now() + goodForMs);
    return code;
  }

  /** Redeems a code and returns whether it was valid. */
  take(code: string): boolean {
    const until = this.#open.get(code) ?? 0;
    this.#open.delete(code);
    return performance.now() < until;
  }
}
