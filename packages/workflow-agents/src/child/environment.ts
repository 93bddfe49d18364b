/** What every command gets of the thread's environment: nothing of it is a secret. */
const always = [
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "SHELL",
  "LANG",
  "LC_ALL",
  "LC_CTYPE",
  "TERM",
  "TMPDIR",
  "TZ",
];

/**
 * The part of an environment that a command gets: what every one does, and the variables of an
 * allow-list. A name that ends in `*` allows all that begin so.
 */
export function allowed(
  env: Readonly<Record<string, string>>,
  list: readonly string[],
): Record<string, string> {
  const isAllowed = (name: string) =>
    always.includes(name) ||
    list.some((one) => (one.endsWith("*") ? name.startsWith(one.slice(0, -1)) : one === name));
  return Object.fromEntries(Object.entries(env).filter(([name]) => isAllowed(name)));
}

const secretName = /(KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|AUTH)/i;
const shortestSecret = 8;

/**
 * A function that takes the values of secrets out of a text: those of variables whose names say so
 * (`…_KEY`, `…TOKEN…`), from 8 characters on, each line of them.
 */
export function masking(env: Readonly<Record<string, string>>): (text: string) => string {
  const secrets = Object.entries(env)
    .filter(([name]) => secretName.test(name))
    .flatMap(([, value]) => [value, JSON.stringify(value).slice(1, -1), ...value.split("\n")])
    .filter((value) => value.length >= shortestSecret)
    .sort((a, b) => b.length - a.length);
  return (text) => secrets.reduce((masked, secret) => masked.replaceAll(secret, "***"), text);
}
