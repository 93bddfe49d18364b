import { randomBytes } from "node:crypto";

const codeBytes = 16;
const goodForMs = 60_000;

/**
 * Codes that each let one browser in, once, within a minute. A browser is opened by a command whose
 * arguments everybody on the machine can list: the token must not stand there.
 */
export class EntryCodes {
  /** Until when each is good, in milliseconds of the process's own clock. */
  readonly #open = new Map<string, number>();

  /** A new code: 128 random bits. */
  make(): string {
    const code = randomBytes(codeBytes).toString("base64url");
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
