import { hostname, networkInterfaces } from "node:os";
import { WorkflowError } from "@uncaged/workflow/host";

const loopback = ["127.0.0.1", "localhost", "[::1]"];
const everywhere = new Set(["0.0.0.0", "::", "[::]"]);

/** Whether only this machine reaches an address. */
export const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);

/**
 * The values of `Host` that a server on this address answers to. A page of another site whose name was
 * made to point here (DNS rebinding) sends its own.
 */
export function ownHosts(host: string, port: number): ReadonlySet<string> {
  const names = [...loopback, bracketed(host)];
  if (everywhere.has(host)) {
    names.push(hostname());
    for (const addresses of Object.values(networkInterfaces())) {
      for (const { address } of addresses ?? []) names.push(bracketed(address));
    }
  }
  const ports = port === 80 ? ["", ":80"] : [`:${port}`];
  return new Set(names.flatMap((name) => ports.map((suffix) => name.toLowerCase() + suffix)));
}

/** A host as it stands in a URL. */
export const bracketed = (host: string): string =>
  host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;

/**
 * Checks who sends a request and from which page.
 *
 * @throws WorkflowError `FOREIGN_HOST`, `FOREIGN_ORIGIN`.
 */
export function checkSender(headers: Headers, hosts: ReadonlySet<string>): void {
  const host = headers.get("host")?.toLowerCase() ?? "";
  if (!hosts.has(host)) throw foreign("FOREIGN_HOST", "Host");
  const origin = headers.get("origin");
  if (origin !== null && origin.toLowerCase() !== `http://${host}`) {
    throw foreign("FOREIGN_ORIGIN", "Origin");
  }
  const site = headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin" && site !== "none") {
    throw foreign("FOREIGN_ORIGIN", "Sec-Fetch-Site");
  }
}

function foreign(code: string, header: string): WorkflowError {
  return new WorkflowError({
    code,
    kind: "failed",
    message: `this server does not answer to that ${header}`,
    hint: "use the URL that uncaged-workflow serve has printed",
  });
}
