import type { Environment } from "@uncaged/workflow/host";
import { badHost, otherHost, passwordInUrl } from "./errors.ts";

/** The URLs of a cluster's two HTTP interfaces, without a trailing slash, and their token. */
export type ClusterAddress = { ingress: string; admin: string; token: string | null };

/** Environment variable with the token of a cluster. */
export const tokenVariable = "UNCAGED_WORKFLOW_HOST_TOKEN";
const defaultPorts = { ingress: 8080, admin: 9070 };

/** Tells whether a text starts like the URL of a cluster. */
export const isHostUrl = (text: string): boolean => /^restates?:/i.test(text);

/**
 * Reads the URL of a cluster: `restate://host[:port][?admin=[host:]port]`, or `restates://` with TLS. The token comes
 * from the variable `UNCAGED_WORKFLOW_HOST_TOKEN`, because process lists show URLs.
 *
 * @throws WorkflowError `BAD_HOST_URL`.
 */
export function readHostUrl(text: string, env: Environment): ClusterAddress {
  const url = URL.parse(text);
  const scheme = { "restate:": "http:", "restates:": "https:" }[url?.protocol ?? ""];
  if (!isHostUrl(text)) throw otherHost(masked(text));
  if (!url || !scheme || url.hostname === "") throw badHost(masked(text));
  const { hostname, username, password, pathname, hash, searchParams } = url;
  if (username || password) throw passwordInUrl(tokenVariable);
  const unknown = [...searchParams.keys()].some((key) => key !== "admin");
  if ((pathname !== "" && pathname !== "/") || hash || unknown) throw badHost(masked(text));
  const admin = adminOf(searchParams.get("admin"), hostname, text);
  const token = env[tokenVariable] || null;
  const port = url.port === "" ? defaultPorts.ingress : Number(url.port);
  return { ingress: `${scheme}//${hostname}:${port}`, admin: `${scheme}//${admin}`, token };
}

function adminOf(text: string | null, hostname: string, whole: string): string {
  if (text === null) return `${hostname}:${defaultPorts.admin}`;
  const [, host = hostname, port = ""] = /^(?:(.+):)?(\d{1,5})$/.exec(text) ?? [];
  if (port === "" || Number(port) === 0 || Number(port) > 65_535) throw badHost(masked(whole));
  if (!URL.canParse(`http://${host}:${port}`)) throw badHost(masked(whole));
  return `${host}:${port}`;
}

/** Masks the text before an `@`, which may be a password, even without a scheme. */
const masked = (text: string): string => text.replace(/:(?!\/\/)[^/@]*@/g, ":***@");

/** Returns the URL of an address. {@link readHostUrl} reads it back. */
export function hostUrl({ ingress, admin }: ClusterAddress): string {
  const [front, back] = [new URL(ingress), new URL(admin)];
  const other =
    front.hostname === back.hostname ? portOf(back) : `${back.hostname}:${portOf(back)}`;
  const scheme = front.protocol === "https:" ? "restates" : "restate";
  const rest = other === defaultPorts.admin ? "" : `?admin=${other}`;
  return `${scheme}://${front.hostname}:${portOf(front)}${rest}`;
}

// `URL` drops the default port of a protocol.
const portOf = ({ port, protocol }: URL): number =>
  Number(port || (protocol === "https:" ? 443 : 80));
