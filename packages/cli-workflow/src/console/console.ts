import { isWorkflowError, WorkflowError } from "@uncaged/workflow/host";
import { readServerAddress } from "@uncaged/workflow/internal";
import type { RunningServer, ServerOptions } from "@uncaged/workflow-server";
import manifest from "../../package.json" with { type: "json" };
import { planAccess } from "../plan/home.ts";
import { evalPlace } from "../session/evals.ts";
import type { Session } from "../session/session.ts";

const { version } = manifest;

/**
 * Starts the console's server, and builds the console if needed. If a server of the same storage root already uses
 * the port, the error reports this without that server's token.
 * @throws WorkflowError the errors of `startServer`.
 */
export async function serveConsole(
  session: Session,
  listening: Pick<
    ServerOptions,
    | ("hostname" | "port" | "publicUrl" | "allowHosts" | "allowOrigins" | "tokenFile" | "resume")
    | ("onRecovered" | "onTokens")
  >,
): Promise<RunningServer> {
  const { host, hostName, env, cwd } = session;
  const project = session.hostProject?.folder ?? null;
  const { buildConsole, startServer } = await import("@uncaged/workflow-server");
  await buildConsole(() => session.note("building the console, once: this takes some seconds"));
  try {
    const plans = planAccess(session);
    const evals = evalPlace(session);
    const parts = { host, hostName, env, cwd, version, project, plans, evals };
    return startServer({ ...parts, ...listening });
  } catch (error) {
    if (!isWorkflowError(error) || error.code !== "PORT_IN_USE") throw error;
    const url = await runningConsole(session);
    const own = readServerAddress(session.host.root)?.url;
    if (url === null || own === undefined || !own.endsWith(`:${listening.port}`)) throw error;
    const hint =
      "this storage root is served there already: open the URL that its server printed, or take another port: --port 0";
    throw WorkflowError.failed(error.code, error.message, hint);
  }
}

/** Returns the URL of this storage root's running console, with its token; null if none runs. */
export async function runningConsole({ host }: Session): Promise<string | null> {
  const { url, publicUrl, token } = readServerAddress(host.root) ?? {};
  if (url === undefined) return null;
  const headers = { Authorization: `Bearer ${token}` };
  const signal = AbortSignal.timeout(2_000);
  const reply = await fetch(`${url}/api/server`, { headers, signal, redirect: "manual" }).catch(
    () => null,
  );
  return reply?.ok ? `${publicUrl ?? url}/?token=${token}` : null;
}

const openers: Partial<Record<NodeJS.Platform, string[]>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/** Opens a URL in the browser; returns false without a browser. */
export function openBrowser(url: string): boolean {
  const [program = "", ...args] = openers[process.platform] ?? ["xdg-open"];
  if (!Bun.which(program)) return false;
  const options = { stdin: "ignore", stdout: "ignore", stderr: "ignore" } as const;
  Bun.spawn([program, ...args, url], options).unref();
  return true;
}
