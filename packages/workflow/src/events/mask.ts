const secretName = /(KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|AUTH)/i;
const shortestSecret = 8;

/**
 * A function that takes the values of an environment's secrets out of a text: those of variables whose
 * names say so (`…_KEY`, `…TOKEN…`, `…PASSWORD…`) and that are 8 characters or longer.
 */
export function maskOf(env: Readonly<Record<string, string>>): (text: string) => string {
  const secrets = new Set<string>();
  for (const [name, value] of Object.entries(env)) {
    if (!secretName.test(name) || value.length < shortestSecret) continue;
    secrets.add(value);
    secrets.add(JSON.stringify(value).slice(1, -1));
  }
  const longestFirst = [...secrets].sort((a, b) => b.length - a.length);
  return (text) => longestFirst.reduce((masked, secret) => masked.replaceAll(secret, "***"), text);
}
