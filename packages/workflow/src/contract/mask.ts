import { urlPassword } from "./url.ts";

/**
 * Masks the secrets of an environment in a text: `mask(text)`. `value` masks the texts of a JSON value. `pending`
 * counts the characters at the end of a text that may be the start of a secret. `stream` masks a text that arrives in
 * chunks. It delays the pending characters, so it also masks a secret that spans two chunks.
 */
export type Mask = {
  (text: string): string;
  value(value: unknown): unknown;
  pending(text: string): number;
  stream(): { push(piece: string): string; end(): string };
};

const secretName =
  /KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|CONNECTION_?STRING|_PWD|(^|_)PASS(_|$)|AUTH(?!OR(?!IZ)|_SOCK)/i;
const headerLine = /^\s*([^:\s]+)\s*:\s*(.*\S)/gm;
const secretHeader = /COOKIE/i;
const shortestSecret = 8;
/** Minimum length of explicitly named secrets, in characters. */
const shortestNamed = 6;
/** Names of models must stay readable: prices are found by the names in the events of model calls. */
const modelName = /(^|_)MODEL$/i;

/**
 * Returns a mask of an environment. It masks the values of variables with secret names (`…_KEY`, `…TOKEN…`, `…_PWD`),
 * passwords in URLs (`postgres://me:password@host`) and the headers of `…_HEADERS` with secret names (`Authorization:
 * Bearer …`), if they have at least 8 characters. It also masks the values of the variables in `secrets`, except model
 * names, if they have at least 6 characters. Values are masked whole and line by line, also in base64, hexadecimal and
 * percent encoding. The replacement is `***`, or `[secret:NAME]` for each value of `named` with at least 6 characters.
 */
export function maskOf(
  env: Readonly<Record<string, string>>,
  secrets: readonly string[] = [],
  named: Readonly<Record<string, string>> = {},
): Mask {
  const marks = new Map<string, string>();
  const add = (secret: string, shortest: number, mark: string): void => {
    if (secret.length < shortest) return;
    marks.set(secret, mark);
    marks.set(JSON.stringify(secret).slice(1, -1), mark);
    for (const encoded of encodingsOf(secret)) marks.set(encoded, mark);
  };
  for (const name of Object.keys(env)) {
    for (const secret of secretsOf(name, env[name] ?? "")) add(secret, shortestSecret, "***");
  }
  for (const name of secrets) {
    if (!Object.hasOwn(env, name) || modelName.test(name)) continue;
    for (const secret of linesOf(env[name] ?? "")) add(secret, shortestNamed, "***");
  }
  for (const name of Object.keys(named)) {
    for (const secret of linesOf(named[name] ?? "")) add(secret, shortestNamed, `[secret:${name}]`);
  }
  const masked = marks.size === 0 ? [] : [...marks.keys()].sort((a, b) => b.length - a.length);
  const mask = masked.length === 0 ? (text: string) => text : maskBy(masked, marks);
  const value = (plain: unknown): unknown => {
    if (typeof plain === "string") return mask(plain);
    if (typeof plain !== "object" || plain === null) return plain;
    if (Array.isArray(plain)) return plain.map(value);
    return Object.fromEntries(Object.entries(plain).map(([key, one]) => [mask(key), value(one)]));
  };
  const pending = (text: string): number =>
    masked.reduce((most, secret) => Math.max(most, begunOf(secret, text)), 0);
  const stream = () => {
    let held = "";
    return {
      push(piece: string): string {
        const text = mask(held + piece);
        const ready = text.length - pending(text);
        held = text.slice(ready);
        return text.slice(0, ready);
      },
      end(): string {
        const rest = held;
        held = "";
        return rest;
      },
    };
  };
  return Object.assign(mask, { value, pending, stream });
}

/** Returns a mask that is created at first use. */
export function maskLater(make: () => Mask): Mask {
  let made: Mask | null = null;
  const mask = () => (made ??= make());
  return Object.assign((text: string) => mask()(text), {
    value: (plain: unknown) => mask().value(plain),
    pending: (text: string) => mask().pending(text),
    stream: () => mask().stream(),
  });
}

function maskBy(masked: string[], marks: ReadonlyMap<string, string>): (text: string) => string {
  // One pass: the replacement of one secret may look like another secret.
  const pattern = new RegExp(masked.map(escaped).join("|"), "g");
  return (text) => text.replace(pattern, (secret) => marks.get(secret) ?? "***");
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}

/** A mask that changes nothing. */
export const noMask: Mask = maskOf({});

function secretsOf(name: string, value: string): string[] {
  if (secretName.test(name)) return linesOf(value);
  if (name.endsWith("_HEADERS")) return [...value.matchAll(headerLine)].flatMap(headerSecrets);
  if (!value.includes("://")) return [];
  return [...value.matchAll(urlPassword)].flatMap(([, , password = ""]) => [
    password,
    decoded(password),
  ]);
}

const linesOf = (value: string): string[] => [value, ...value.split("\n")];

function headerSecrets([, name = "", value = ""]: RegExpMatchArray): string[] {
  return secretName.test(name) || secretHeader.test(name) ? [value, ...value.split(/\s+/)] : [];
}

/**
 * Returns a secret's usual encodings: base64 and base64url, alone and within other bytes, hexadecimal, and percent
 * encoding.
 */
function encodingsOf(secret: string): string[] {
  const bytes = new TextEncoder().encode(secret);
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const base64 = [0, 1, 2].map((before) => base64Within(bytes, before));
  const all = [
    base64Of(bytes).replace(/=+$/, ""),
    ...base64,
    hex,
    hex.toUpperCase(),
    inUrl(secret),
  ];
  const urls = all.map((text) => text.replaceAll("+", "-").replaceAll("/", "_"));
  return [...all, ...urls].filter((text) => text.length >= shortestSecret && text !== secret);
}

function inUrl(secret: string): string {
  return encodeURIComponent(secret.toWellFormed());
}

/**
 * Returns the base64 characters of bytes that do not depend on their surroundings, when `before` bytes precede them.
 */
function base64Within(bytes: Uint8Array, before: number): string {
  const padded = new Uint8Array(before + bytes.length);
  padded.set(bytes, before);
  const from = Math.ceil((before * 8) / 6);
  const to = Math.floor((padded.length * 8) / 6);
  return base64Of(padded).slice(from, to);
}

function base64Of(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

function decoded(password: string): string {
  try {
    return decodeURIComponent(password);
  } catch {
    return password;
  }
}

function begunOf(secret: string, text: string): number {
  const last = text.at(-1);
  for (let n = Math.min(secret.length - 1, text.length); n > 0; n -= 1) {
    if (secret[n - 1] === last && text.endsWith(secret.slice(0, n))) return n;
  }
  return 0;
}
