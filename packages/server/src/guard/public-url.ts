import { badAllowedHost, badPublicUrl } from "./errors.ts";

/**
 * Returns the origin of a server behind a proxy.
 * @throws WorkflowError `BAD_PUBLIC_URL` (usage) for another scheme, a path, a query or credentials.
 */
export function publicOrigin(text: string): URL {
  const url = URL.parse(text);
  if (url?.protocol !== "http:" && url?.protocol !== "https:")
    throw badPublicUrl(text, "not an http or https URL");
  if (url.username || url.password) throw badPublicUrl(text, "credentials are not supported");
  if (url.pathname !== "/" || url.search || url.hash || /[?#]$/.test(text))
    throw badPublicUrl(text, "paths are not supported: use a host of its own");
  return url;
}

/**
 * Returns additional values of `Host` of a server, each with the origin of its pages.
 * @throws WorkflowError `BAD_ALLOWED_HOST` (usage)
 */
export function publicHosts(
  origin: URL | null,
  allowed: readonly string[],
  port: number,
): Map<string, string> {
  const hosts = new Map<string, string>();
  const scheme = origin?.protocol ?? "http:";
  for (const name of allowed) {
    const url = URL.parse(`${scheme}//${name}`);
    if (!url || !/^([^/?#@:\s]+|\[[0-9a-f:.]+\])(:\d+)?$/i.test(name)) throw badAllowedHost(name);
    for (const host of [url.host, `${url.hostname}:${url.port || port}`])
      hosts.set(host, `${scheme}//${host}`);
  }
  if (origin) {
    const standard = origin.protocol === "https:" ? 443 : 80;
    // Proxies send the name with or without the port.
    for (const host of [origin.hostname, `${origin.hostname}:${origin.port || standard}`])
      hosts.set(host, origin.origin);
  }
  return hosts;
}
