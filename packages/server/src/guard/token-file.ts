import { readFileSync, statSync, type Stats } from "node:fs";
import { show } from "@uncaged/workflow/internal";
import { badTokenFile, badTokenLine } from "./errors.ts";
import { type Role, roles } from "./role.ts";
import { digestOf, type Grant, type Tokens } from "./tokens.ts";

const mostBytes = 1024 * 1024;
const lookMs = 1_000;

/**
 * Reads a token file. Each line is `<name> <role> <token> [<expiry>]`; the token may be `sha256:` and the hexadecimal
 * SHA-256 of the token. Empty lines and lines that begin with `#` are skipped.
 * @throws WorkflowError `BAD_TOKEN_FILE` (usage) with the line of the first problem.
 */
export function readTokenFile(path: string): Grant[] {
  const text = readSecret(path);
  const grants: Grant[] = [];
  const lineOf = new Map<string, number>();
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (/^\s*(#|$)/.test(line)) continue;
    const number = index + 1;
    const refuse = (problem: string) => badTokenLine(path, number, problem);
    const grant = grantOf(line.trim().split(/\s+/), refuse);
    const { name, digest } = grant;
    for (const what of [`the name ${name}`, "the token"]) {
      const key = what === "the token" ? digest.toString("hex") : what;
      const first = lineOf.get(key);
      if (first !== undefined) throw refuse(`${what} is already on line ${first}`);
      lineOf.set(key, number);
    }
    grants.push(grant);
  }
  if (grants.length === 0) throw badTokenFile(path, "no tokens found");
  return grants;
}

function grantOf(words: string[], refuse: (problem: string) => Error): Grant {
  const [name = "", role = "", token = "", expiry, more] = words;
  if (words.length < 3 || more !== undefined)
    throw refuse("expected <name> <role> <token> [<expiry>]");
  if (!/^[\w.@-]{1,64}$/.test(name))
    throw refuse(`invalid name ${show(name)}: use letters, digits and . _ @ -`);
  if (!isRole(role)) throw refuse(`invalid role ${show(role)}: use ${roles.join(", ")}`);
  return { name, role, digest: digestIn(token, refuse), expiresAt: expiryIn(expiry, refuse) };
}

const isRole = (text: string): text is Role => roles.includes(text as Role);

// Messages never contain a token.
function digestIn(token: string, refuse: (problem: string) => Error): Buffer {
  const [, hex] = /^sha256:(.*)$/i.exec(token) ?? [];
  if (hex !== undefined) {
    if (/^[0-9a-f]{64}$/i.test(hex)) return Buffer.from(hex, "hex");
    throw refuse("sha256: needs 64 hexadecimal digits");
  }
  if (/^[\w.~+/=-]{20,512}$/.test(token)) return digestOf(token);
  throw refuse("a token needs 20 to 512 letters, digits and . _ ~ + / = -");
}

function expiryIn(text: string | undefined, refuse: (problem: string) => Error): number | null {
  if (text === undefined) return null;
  const time = /^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2}))?$/.test(text)
    ? Date.parse(text)
    : Number.NaN;
  if (!Number.isNaN(time)) return time;
  throw refuse(`invalid expiry ${show(text)}: use 2027-01-31 or 2027-01-31T12:00:00Z`);
}

function readSecret(path: string): string {
  try {
    const stats = statSync(path);
    if (!stats.isFile()) throw badTokenFile(path, "not a file");
    if (stats.size > mostBytes) throw badTokenFile(path, "larger than 1 MiB");
    checkOwner(path, stats);
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "syscall" in error && "code" in error)
      throw badTokenFile(path, `can't be read: ${String(error.code)}`);
    throw error;
  }
}

// A service manager may pass a file that root owns and the group can read.
function checkOwner(path: string, { uid, mode }: Stats): void {
  const own = process.getuid?.();
  if (own === undefined) return;
  const permissions = (mode & 0o777).toString(8).padStart(4, "0");
  if (uid !== own && uid !== 0) throw badTokenFile(path, "belongs to another user");
  if ((mode & (uid === own ? 0o077 : 0o027)) !== 0)
    throw badTokenFile(path, `other users can read it (mode ${permissions})`, `chmod 600 ${path}`);
}

/** The token file of a running server. Keeps the tokens of the last valid file. */
export class TokenFile {
  readonly #path: string;
  readonly #tokens: Tokens;
  #timer: NodeJS.Timeout | undefined;
  #signature: string;
  #onChange: () => void = () => undefined;
  #onRead: (error: unknown) => void = () => undefined;

  /** @throws WorkflowError `BAD_TOKEN_FILE` (usage) */
  constructor(path: string, tokens: Tokens) {
    this.#path = path;
    this.#tokens = tokens;
    this.#signature = signatureOf(path);
    tokens.replace(readTokenFile(path));
  }

  /**
   * Checks each second whether the file has changed. Calls `onChange` when a token may have become invalid, and `onRead`
   * after each new read, with the error of an invalid file.
   */
  watch(onChange: () => void, onRead: (error: unknown) => void = () => undefined): void {
    this.#onChange = onChange;
    this.#onRead = onRead;
    let lookedAt = Date.now();
    this.#timer = setInterval(() => {
      if (signatureOf(this.#path) !== this.#signature) this.read();
      else if (this.#tokens.hasExpiredSince(lookedAt)) onChange();
      lookedAt = Date.now();
    }, lookMs).unref();
  }

  /** Reads the file again. */
  read(): void {
    this.#signature = signatureOf(this.#path);
    try {
      this.#tokens.replace(readTokenFile(this.#path));
    } catch (error) {
      this.#onRead(error);
      return;
    }
    this.#onChange();
    this.#onRead(null);
  }

  close(): void {
    clearInterval(this.#timer);
  }
}

function signatureOf(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats ? [stats.ino, stats.size, stats.mtimeMs, stats.ctimeMs].join(" ") : "missing";
}
