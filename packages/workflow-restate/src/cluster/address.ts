import type { Environment } from "@uncaged/workflow/host";
import { badHost, passwordInUrl } from "./errors.ts";

/** Where a cluster's two HTTP interfaces are, without a slash at their end, and the token that they ask for. */
export type ClusterAddress = { ingress: string; admin: string; token: string | null };

/** The variable that holds the token of a cluster. */
export const tokenVariable = "UNCAGED_WORKFLOW_HOST_TOKEN";
const defaultPorts = { ingress: 8080, admin: 9070 };

/** Whether a text is meant as a cluster's URL. */
export const isHostUrl = (text: string): boolean => /^restates?:/i.test(text);

/**
 * Reads the URL of a cluster: `restate://host[:port][?admin=[host:]port]`, or `restates://` with TLS. The token is not
 * part of it, for it would be seen in lists of processes: it is the variable `UNCAGED_WORKFLOW_HOST_TOKEN`.
 *
 * @throws WorkflowError `BAD_HOST_URL`.
 */
export function readHostUrl(text: string, env: Environment): ClusterAddress {
  const url = URL.parse(text);
  const scheme = { "restate:": "http:", "restates:": "https:" }[url?.protocol ?? ""];
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

/** Text before an `@` may be a password, also without a scheme. */
const masked = (text: string): string => text.replace(/:(?!\/\/)[^/@]*@/g, ":***@");

/** The URL that {@link readHostUrl} takes for an address. */
export function hostUrl({ ingress, admin }: ClusterAddress): string {
  const [front, back] = [new URL(ingress), new URL(admin)];
  const other =
    front.hostname === back.hostname ? portOf(back) : `${back.hostname}:${portOf(back)}`;
  const scheme = front.protocol === "https:" ? "restates" : "restate";
  const rest = other === defaultPorts.admin ? "" : `?admin=${other}`;
  return `${scheme}://${front.hostname}:${portOf(front)}${rest}`;
}

// A URL leaves out the port that is its protocol's own.
const portOf = ({ port, protocol }: URL): number =>
  Number(port || (protocol === "https:" ? 443 : 80));
