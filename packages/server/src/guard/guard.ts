import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { hostname, networkInterfaces } from "node:os";
import { type AnsweredBy, WorkflowError } from "@uncaged/workflow/host";
import { parse, serialize } from "hono/utils/cookie";
import { checkBodyType } from "./body.ts";
import { guestOf, preflightAnswer, shareWith } from "./cross-origin.ts";

export type Access = {
  hosts: ReadonlySet<string>;
  /** Those of other sites whose pages may use the API. */
  origins: ReadonlySet<string>;
  token: string;
  port: number;
  codes: EntryCodes;
};

/**
 * Checks a request before it is routed, whatever its path: host, page, token, body. A browser that brings
 * the token of the printed URL, or an entry code, gets its cookie and is redirected to the URL without it. A page of
 * an allowed origin has the token itself: the cookie is the console's.
 */
export function checkRequest(request: Request, access: Access): Response | null {
  const { headers } = request;
  checkHost(headers, access.hosts);
  const isGuest = guestOf(headers, access.origins) !== null;
  if (!isGuest) checkPage(headers);
  const answer = isGuest ? preflightAnswer(request) : entryOf(request, access);
  if (answer) return answer;
  checkToken(headers, access.token, isGuest ? [] : cookiesOf(headers, access.port));
  checkBodyType(request);
  return null;
}

function entryOf({ method, url }: Request, { token, port, codes }: Access): Response | null {
  const parsed = URL.parse(url);
  if (!parsed) {
    const hint = "see /api/openapi.json for what there is";
    throw WorkflowError.usage("BAD_URL", "a request must have a path", hint);
  }
  const { pathname, searchParams } = parsed;
  if (method !== "GET" || pathname.startsWith("/api/")) return null;
  const given = searchParams.get("token");
  const code = searchParams.get("code");
  const isKnown = (given !== null && isSame(given, token)) || (code !== null && codes.take(code));
  if (!isKnown) return null;
  for (const name of ["token", "code"]) searchParams.delete(name);
  const rest = searchParams.size > 0 ? `?${searchParams.toString()}` : "";
  // Two slashes at the start would name another host.
  const location = `/${pathname.replace(/^[/\\]+/, "")}${rest}`;
  return new Response(null, {
    status: 303,
    headers: { Location: location, "Set-Cookie": cookieFor(token, port) },
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

/** On every response: nothing is loaded from elsewhere, run inline, framed or sent to others. */
const protection: Record<string, string> = {
  "Content-Security-Policy": policy,
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
};

/** @param guest The page of another site that may read it. */
export function protect(response: Response, guest: string | null): Response {
  for (const [name, value] of Object.entries(protection)) response.headers.set(name, value);
  if (guest !== null) shareWith(guest, response);
  // A cache must not give one page what was meant for another.
  response.headers.append("Vary", "Origin");
  if (!response.headers.has("Cache-Control")) response.headers.set("Cache-Control", "no-store");
  return response;
}

const loopback = ["127.0.0.1", "localhost", "[::1]"];
const everywhere = new Set(["0.0.0.0", "::", "[::]"]);

export const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);

/**
 * The values of `Host` that a server on this address answers to. A page of another site whose name was made
 * to point here (DNS rebinding) sends its own.
 */
export function ownHosts(host: string, port: number): ReadonlySet<string> {
  const names = [...loopback, bracketed(host)];
  if (everywhere.has(host)) {
    names.push(hostname());
    for (const addresses of Object.values(networkInterfaces())) {
      for (const { address } of addresses ?? []) names.push(bracketed(address));
    }
  }
  const ports = port === 80 ? ["", ":80"] : [`:${port}`];
  return new Set(names.flatMap((name) => ports.map((suffix) => name.toLowerCase() + suffix)));
}

export const bracketed = (host: string): string =>
  host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;

const hostIn = (headers: Headers): string => headers.get("host")?.toLowerCase() ?? "";

function checkHost(headers: Headers, hosts: ReadonlySet<string>): void {
  if (!hosts.has(hostIn(headers))) throw foreign("FOREIGN_HOST", "Host");
}

/** Refuses what a page of another site sends. */
function checkPage(headers: Headers): void {
  const origin = headers.get("origin");
  if (origin !== null && origin.toLowerCase() !== `http://${hostIn(headers)}`) {
    throw foreign("FOREIGN_ORIGIN", "Origin");
  }
  const site = headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin" && site !== "none") {
    throw foreign("FOREIGN_ORIGIN", "Sec-Fetch-Site");
  }
}

const foreign = (code: string, header: string): WorkflowError =>
  WorkflowError.failed(
    code,
    `this server does not answer to that ${header}`,
    "use the URL that uncaged-workflow serve has printed",
  );

export const newToken = (): string => randomBytes(32).toString("base64url");

/** The name of the cookie: browsers separate cookies by host and not by port. */
const cookieName = (port: number): string => `uncaged-workflow-${port}`;

/** Whether two tokens are equal, in a time that does not depend on how much of them is. */
const isSame = (given: string, token: string): boolean =>
  timingSafeEqual(digest(given), digest(token));

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

/** Checks a request's token: a program sends it in `Authorization`, a browser in the cookie. */
function checkToken(headers: Headers, token: string, cookies: readonly string[]): void {
  const bearer = bearerOf(headers);
  const given = bearer === undefined ? cookies : [bearer];
  if (given.length === 0) throw refused("NO_TOKEN", "this server asks for a token");
  if (!given.some((one) => isSame(one, token))) {
    throw refused("WRONG_TOKEN", "that is not this server's token");
  }
}

/** Names the sender of an answer: the console, which has the cookie, or a program with the token. */
export const answererOf = ({ headers }: Request): AnsweredBy => ({
  kind: bearerOf(headers) === undefined ? "console" : "api",
});

const bearerOf = (headers: Headers): string | undefined =>
  /^Bearer +(\S+)$/i.exec(headers.get("authorization") ?? "")?.[1];

// A page of another port may set one of this name for a longer path, which then comes first.
function cookiesOf(headers: Headers, port: number): string[] {
  const name = cookieName(port);
  const cookies = (headers.get("cookie") ?? "").split(";");
  return cookies.flatMap((cookie) => parse(cookie, name)[name] ?? []);
}

/** The `Set-Cookie` that lets a browser in, until it is closed. */
const cookieFor = (token: string, port: number): string =>
  serialize(cookieName(port), token, { httpOnly: true, sameSite: "Strict", path: "/" });

const refused = (code: string, message: string): WorkflowError =>
  WorkflowError.failed(
    code,
    message,
    "open the URL that uncaged-workflow serve has printed; programs send Authorization: Bearer, with the token from run/server.json in the storage root",
  );

const goodForMs = 60_000;

/**
 * Codes that each let one browser in, once, within a minute. A browser is opened by a command whose
 * arguments everybody on the machine can list: the token must not be among them.
 */
export class EntryCodes {
  /** Until when each is good, in milliseconds of the process's own clock. */
  readonly #open = new Map<string, number>();

  make(): string {
    const code = randomBytes(16).toString("base64url");
    this.#open.set(code, performance.now() + goodForMs);
    return code;
  }

  /** Whether a code lets in; from then on it does not. */
  take(code: string): boolean {
    const until = this.#open.get(code) ?? 0;
    this.#open.delete(code);
    return performance.now() < until;
  }
}
