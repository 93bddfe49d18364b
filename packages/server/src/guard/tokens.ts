import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { tokenExpired, unauthorized } from "./errors.ts";
import type { Role } from "./role.ts";

/** A token that a server accepts. Only its SHA-256 is kept. */
export type Grant = {
  name: string | null;
  role: Role;
  digest: Buffer;
  /** Milliseconds since the epoch; null for a token without an end. */
  expiresAt: number | null;
};

export const newToken = (): string => randomBytes(32).toString("base64url");

export const digestOf = (text: string): Buffer => createHash("sha256").update(text).digest();

/** The tokens of a server: the storage root's own token and the tokens of a token file. */
export class Tokens {
  /** The storage root's own token, which may do everything. */
  readonly own: string;
  readonly #own: Grant;
  #named: readonly Grant[] = [];

  constructor(own: string) {
    this.own = own;
    this.#own = { name: null, role: "operate", digest: digestOf(own), expiresAt: null };
  }

  /** Replaces the tokens of the token file. */
  replace(named: readonly Grant[]): void {
    this.#named = named;
  }

  /** Returns the grant of a token, expired or not; null for an unknown token. Compares all tokens in constant time. */
  find(given: string): Grant | null {
    const digest = digestOf(given);
    return (
      [this.#own, ...this.#named].filter((one) => timingSafeEqual(one.digest, digest))[0] ?? null
    );
  }

  /**
   * Returns the grant of the first valid token.
   * @throws WorkflowError `NO_TOKEN`, `WRONG_TOKEN`, `TOKEN_EXPIRED`
   */
  check(given: readonly string[]): Grant {
    if (given.length === 0) throw unauthorized("NO_TOKEN", "missing token");
    const found = given.flatMap((one) => this.find(one) ?? []);
    const valid = found.find((one) => !isExpired(one));
    if (valid) return valid;
    const [expired] = found;
    if (expired) throw tokenExpired(expired.name);
    throw unauthorized("WRONG_TOKEN", "the server does not know this token");
  }

  /** Tells whether a token has expired since a time, in milliseconds since the epoch. */
  hasExpiredSince(time: number): boolean {
    return this.#named.some((one) => isExpired(one) && (one.expiresAt ?? 0) > time);
  }
}

export const isExpired = ({ expiresAt }: Grant): boolean =>
  expiresAt !== null && expiresAt <= Date.now();
