const secretName = /(KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|AUTH)/i;
const headerLine = /^\s*([^:\s]+)\s*:\s*(.*\S)/gm;
const shortestSecret = 8;
const stars = "***";

/** Takes the secrets of an environment out of what a command says. */
export type Mask = {
  text: (text: string) => string;
  /** A JSON value, with its texts masked. */
  value: (value: unknown) => unknown;
  /** Masks a text that comes in pieces, also a secret that lies in two of them. */
  stream: () => { push: (piece: string) => string; end: () => string };
};

/**
 * Masks the values of variables whose names say so (`…_KEY`, `…TOKEN…`), from 8 characters on, and
 * each line of them; of `…_HEADERS` the values of those headers whose names say so.
 */
export function maskOf(env: Readonly<Record<string, string>>): Mask {
  const secrets = Object.entries(env)
    .flatMap(secretsOf)
    .flatMap((value) => [value, JSON.stringify(value).slice(1, -1), ...value.split("\n")])
    .filter((value) => value.length >= shortestSecret)
    .sort((a, b) => b.length - a.length);
  const longest = secrets[0]?.length ?? 0;
  const text = (plain: string) =>
    secrets.reduce((masked, secret) => masked.replaceAll(secret, stars), plain);
  const value = (plain: unknown): unknown => {
    if (secrets.length === 0 || plain === undefined) return plain;
    return JSON.parse(text(JSON.stringify(plain) ?? "null"));
  };
  // What could be the beginning of a secret waits for what follows it.
  const waiting = (held: string): number => {
    for (let length = Math.min(longest - 1, held.length); length > 0; length--) {
      const end = held.slice(-length);
      if (secrets.some((secret) => secret.startsWith(end))) return length;
    }
    return 0;
  };
  const stream = () => {
    let held = "";
    return {
      push: (piece: string) => {
        held = text(held + piece);
        const length = waiting(held);
        const ready = held.slice(0, held.length - length);
        held = held.slice(held.length - length);
        return ready;
      },
      end: () => {
        const rest = held;
        held = "";
        return rest;
      },
    };
  };
  return { text, value, stream };
}

function secretsOf([name, value]: [string, string]): string[] {
  if (secretName.test(name)) return [value];
  if (!name.endsWith("_HEADERS")) return [];
  return [...value.matchAll(headerLine)].flatMap(([, header = "", text = ""]) =>
    secretName.test(header) || /COOKIE/i.test(header) ? [text, ...text.split(/\s+/)] : [],
  );
}
