/**
 * Takes the secrets of an environment out of a text: `mask(text)`. `value` masks the texts of a JSON value. `pending` counts the characters at the end of a text with
 * which a secret may have begun, and `stream` holds those back: it masks a text that comes in pieces,
 * also a secret that lies in two of them.
 */
export type Mask = {
  (text: string): string;
  value(value: unknown): unknown;
  pending(text: string): number;
  stream(): { push(piece: string): string; end(): string };
};

const secretName =
  /KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|_PWD|AUTH(?!OR(?!IZ)|_SOCK)/i;
const urlPassword = /^[a-z][a-z0-9+.-]*:\/\/[^/?#\s]*?:([^/?#\s]+)@/i;
const headerLine = /^\s*([^:\s]+)\s*:\s*(.*\S)/gm;
const secretHeader = /COOKIE/i;
const shortestSecret = 8;

/**
 * Masks the values of variables whose names say that they are secrets (`…_KEY`, `…TOKEN…`, `…_PWD`),
 * whole and line by line, passwords in addresses (`postgres://me:password@host`) and the headers of
 * `…_HEADERS` whose names say so (`Authorization: Bearer …`), from 8 characters on.
 */
export function maskOf(env: Readonly<Record<string, string>>): Mask {
  const found = Object.entries(env)
    .flatMap(secretsOf)
    .filter((secret) => secret.length >= shortestSecret)
    .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]);
  const secrets = [...new Set(found)].sort((a, b) => b.length - a.length);
  const mask = (text: string): string =>
    secrets.reduce((masked, secret) => masked.replaceAll(secret, "***"), text);
  const value = (plain: unknown): unknown => {
    if (typeof plain === "string") return mask(plain);
    if (typeof plain !== "object" || plain === null) return plain;
    if (Array.isArray(plain)) return plain.map(value);
    return Object.fromEntries(Object.entries(plain).map(([key, one]) => [mask(key), value(one)]));
  };
  const pending = (text: string): number =>
    secrets.reduce((most, secret) => Math.max(most, begunOf(secret, text)), 0);
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

/** Masks nothing. */
export const noMask: Mask = maskOf({});

function secretsOf([name, value]: [string, string]): string[] {
  if (secretName.test(name)) return [value, ...value.split("\n")];
  if (name.endsWith("_HEADERS")) return [...value.matchAll(headerLine)].flatMap(headerSecrets);
  const [, password] = urlPassword.exec(value) ?? [];
  return password === undefined ? [] : [password, decoded(password)];
}

function headerSecrets([, name = "", value = ""]: RegExpMatchArray): string[] {
  return secretName.test(name) || secretHeader.test(name) ? [value, ...value.split(/\s+/)] : [];
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
