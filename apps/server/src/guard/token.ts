import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { WorkflowError } from "@uncaged/workflow/host";
import { parse, serialize } from "hono/utils/cookie";

export const newToken = (): string => randomBytes(32).toString("base64url");

/** The name of the cookie: browsers separate cookies by host and not by port. */
const cookieName = (port: number): string => `uncaged-workflow-${port}`;

/** Whether two tokens are equal, in a time that does not depend on how much of them is. */
export const isSame = (given: string, token: string): boolean =>
  timingSafeEqual(digest(given), digest(token));

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

/** Checks a request's token: a program sends it in `Authorization`, a browser in the cookie. */
export function checkToken(headers: Headers, token: string, port: number): void {
  const bearer = bearerOf(headers);
  const given = bearer === undefined ? cookiesOf(headers, port) : [bearer];
  if (given.length === 0) throw refused("NO_TOKEN", "this server asks for a token");
  if (!given.some((one) => isSame(one, token))) {
    throw refused("WRONG_TOKEN", "that is not this server's token");
  }
}

const bearerOf = (headers: Headers): string | undefined =>
  /^Bearer +(\S+)$/i.exec(headers.get("authorization") ?? "")?.[1];

// A page of another port may set one of this name for a longer path, which then comes first.
function cookiesOf(headers: Headers, port: number): string[] {
  const name = cookieName(port);
  const cookies = (headers.get("cookie") ?? "").split(";");
  return cookies.flatMap((cookie) => parse(cookie, name)[name] ?? []);
}

/** The `Set-Cookie` that lets a browser in, until it is closed. */
export const cookieFor = (token: string, port: number): string =>
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
