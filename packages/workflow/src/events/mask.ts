/**
 * Takes secrets out of a text. `begun` counts the characters at the end of a text with which a secret
 * may have begun: the end of what a model has said so far.
 */
export type Mask = { (text: string): string; begun?: (text: string) => number };

const secretName =
  /KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|_PWD|AUTH(?!OR(?!IZ)|_SOCK)/i;
const urlPassword = /^[a-z][a-z0-9+.-]*:\/\/[^/?#\s]*?:([^/?#\s]+)@/i;
const headerLine = /^\s*([^:\s]+)\s*:\s*(.*\S)/gm;
const secretHeader = /COOKIE/i;
const shortestSecret = 8;
const longestBegun = 4096;

/** Takes out nothing. */
export const noMask: Mask = (text) => text;

/**
 * What takes the values of an environment's secrets out of a text: those of variables whose names say
 * so (`…_KEY`, `…TOKEN…`, `…PASSWORD…`), passwords in addresses (`postgres://me:password@host`) and the
 * headers of `…_HEADERS` whose names say so (`Authorization: Bearer …`), when they are 8 characters or
 * longer.
 */
export function maskOf(env: Readonly<Record<string, string>>): Mask {
  const secrets = new Set<string>();
  for (const [name, value] of Object.entries(env)) {
    for (const secret of secretsOf(name, value)) {
      if (secret.length < shortestSecret) continue;
      secrets.add(secret);
      secrets.add(JSON.stringify(secret).slice(1, -1));
    }
  }
  const longestFirst = [...secrets].sort((a, b) => b.length - a.length);
  return Object.assign(
    (text: string) =>
      longestFirst.reduce((masked, secret) => masked.replaceAll(secret, "***"), text),
    {
      begun: (text: string) =>
        longestFirst.reduce((most, secret) => Math.max(most, begunOf(secret, text)), 0),
    },
  );
}

function secretsOf(name: string, value: string): string[] {
  if (secretName.test(name)) return [value];
  if (name.endsWith("_HEADERS")) return [...value.matchAll(headerLine)].flatMap(headerSecrets);
  const [, password] = urlPassword.exec(value) ?? [];
  return password === undefined ? [] : [password];
}

function headerSecrets([, name = "", value = ""]: RegExpMatchArray): string[] {
  return secretName.test(name) || secretHeader.test(name) ? [value, ...value.split(/\s+/)] : [];
}

function begunOf(secret: string, text: string): number {
  const last = text.at(-1);
  for (let n = Math.min(secret.length - 1, text.length, longestBegun); n > 0; n -= 1) {
    if (secret[n - 1] === last && text.endsWith(secret.slice(0, n))) return n;
  }
  return 0;
}
