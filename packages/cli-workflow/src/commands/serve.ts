import { once } from "node:events";
import { isWorkflowError, readServerAddress, WorkflowError } from "@uncaged/workflow/host";
import type { ServerOptions } from "@uncaged/workflow-server";
import manifest from "../../package.json" with { type: "json" };
import { wholeNumber } from "../arguments/options.ts";
import { defineCommand } from "../session/command.ts";
import type { Session } from "../session/session.ts";

type Options = { port: number; host: string; open?: boolean };

const defaultPort = 9160;

export default defineCommand({
  declare: (command) =>
    command
      .option(
        "--port <n>",
        "the port; 0 takes any that is free",
        wholeNumber("--port", 0, 65_535),
        defaultPort,
      )
      .option("--host <address>", "the address to listen on", "127.0.0.1")
      .option("--open", "open the console in the browser"),
  examples: ["uncaged-workflow serve --open", "uncaged-workflow serve --port 0 --json"],
  async run(session, { port, host: hostname, open }: Options) {
    const { host, env, cwd } = session;
    const signal = session.interruption();
    const { buildConsole, isLoopback } = await import("@uncaged/workflow-server");
    await buildConsole(() => session.note("building the console, once: this takes some seconds"));
    const { version } = manifest;
    const server = await started(session, { host, hostname, port, env, cwd, version });
    const { url, token } = server;
    session.show({ url, host: hostname, port: server.port, token }, () => `${url}\n`);
    if (!isLoopback(hostname)) {
      session.note(
        "others can reach this address; who has the token may do everything, unencrypted",
      );
    }
    session.note("Ctrl-C ends it; threads continue without it");
    if (open && !openBrowser(server.entry()))
      session.note("no browser was found: open the URL yourself");
    if (!signal.aborted) await once(signal, "abort");
    await server.stop();
  },
});

/** Where this storage root's own server holds the port, the error has its URL. */
async function started(session: Session, options: ServerOptions) {
  const { startServer } = await import("@uncaged/workflow-server");
  try {
    return startServer(options);
  } catch (error) {
    if (!isWorkflowError(error) || error.code !== "PORT_IN_USE") throw error;
    const { url = "", token } = readServerAddress(session.host.root) ?? {};
    if (!url.endsWith(`:${options.port}`)) throw error;
    const headers = { Authorization: `Bearer ${token}` };
    const signal = AbortSignal.timeout(2_000);
    const reply = await fetch(`${url}/api/server`, { headers, signal }).catch(() => null);
    if (!reply?.ok) throw error;
    const hint = `this storage root is served there already: ${url}/?token=${token}`;
    throw WorkflowError.failed(error.code, error.message, hint);
  }
}

const openers: Partial<Record<NodeJS.Platform, string[]>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

function openBrowser(url: string): boolean {
  const [program = "", ...args] = openers[process.platform] ?? ["xdg-open"];
  if (!Bun.which(program)) return false;
  const options = { stdin: "ignore", stdout: "ignore", stderr: "ignore" } as const;
  Bun.spawn([program, ...args, url], options).unref();
  return true;
}
