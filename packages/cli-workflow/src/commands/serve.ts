import { once } from "node:events";
import { isIPv6 } from "node:net";
import { resolve } from "node:path";
import { toErrorRecord } from "@uncaged/workflow/host";
import { startTelemetry } from "@uncaged/workflow-telemetry";
import { collect, wholeNumber } from "../arguments/options.ts";
import { openBrowser, serveConsole } from "../console/console.ts";
import { noteRecovered } from "../output/recovered.ts";
import { defineCommand } from "../session/command.ts";
import { badOption, wrongUse } from "../session/errors.ts";
import { errorText } from "../session/failure.ts";
import type { Session } from "../session/session.ts";

type Options = {
  port?: number;
  listen?: string;
  open?: boolean;
  allowOrigin?: string[];
  allowHost?: string[];
  publicUrl?: string;
  tokenFile?: string;
  plans?: boolean;
  resume?: boolean;
};

/** Starts plan triggers. Loads the modules of plans on demand, so that the server is reachable sooner. */
async function startFiring(
  session: Session,
  resumes: boolean,
): Promise<{ stop: () => Promise<void> }> {
  const { fireTriggers } = await import("../plan/firing.ts");
  return fireTriggers(session, { resumes });
}

const defaultPort = 9160;

/**
 * Reads `--listen`: an address, or an address and a port. An IPv6 address with a port is in brackets.
 * @throws WorkflowError `BAD_OPTION` (usage)
 */
function listenOf(text: string, port: number | undefined): { hostname: string; port: number } {
  const [, bracketed, name, given] =
    /^(?:\[([0-9a-f:.%]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/i.exec(text) ?? [];
  const hostname = bracketed ?? name ?? (isIPv6(text) ? text : "");
  if (hostname.trim() === "" || /[/\s]/.test(hostname) || Number(given ?? 0) > 65_535)
    throw badOption("--listen", text, "give an address of this machine: --listen 127.0.0.1:9160");
  if (given !== undefined && port !== undefined)
    throw wrongUse("--listen and --port both give a port", "give it once: --listen 127.0.0.1:9160");
  return { hostname, port: given === undefined ? (port ?? defaultPort) : Number(given) };
}

export default defineCommand({
  onServer: { refused: "a server serves its own console" },
  declare: (command) =>
    command
      .option(
        "--port <n>",
        `the port; 0 takes any free port (default: ${defaultPort})`,
        wholeNumber("--port", 0, 65_535),
      )
      .option(
        "--listen <address>",
        "the address to listen on, or address:port (default: 127.0.0.1)",
      )
      .option("--public-url <url>", "the URL of the proxy in front of the server")
      .option("--allow-host <name>", "accept another name in Host (repeatable)", collect)
      .option("--token-file <file>", "accept the named tokens of a file, each with a role")
      .option("--resume", "resume threads that were interrupted within the last day")
      .option("--open", "open the console in the browser")
      .option(
        "--allow-origin <origin>",
        "let pages of another site use the API with the token (repeatable)",
        collect,
      )
      .option("--no-plans", "do not fire the triggers of plans"),
  examples: ["uncaged-workflow serve --open", "uncaged-workflow serve --port 0 --json"],
  async run(session, { open, resume, plans = true, ...options }: Options) {
    const root = session.hostName;
    const { publicUrl, allowHost: allowHosts, allowOrigin: allowOrigins } = options;
    const { hostname, port } = listenOf(options.listen ?? "127.0.0.1", options.port);
    const tokenFile =
      options.tokenFile === undefined ? undefined : resolve(session.cwd, options.tokenFile);
    const signal = session.termination();
    const { isLoopback } = await import("@uncaged/workflow-server");
    const server = await serveConsole(session, {
      ...{ hostname, port, publicUrl, allowHosts, allowOrigins, tokenFile, resume },
      onRecovered: (recovered) => noteRecovered(session, recovered),
      onTokens: (error) => noteTokens(session, error),
    });
    if (tokenFile !== undefined) process.on("SIGHUP", () => server.reload());
    const { url } = server;
    const token = tokenFile === undefined ? server.token : null;
    const shown = { url, host: hostname, port: server.port, token, root };
    session.show(shown, () => `${url}\n`);
    session.note(`the ${session.hostKind} is ${root}`);
    if (!isLoopback(hostname)) {
      session.note(
        "other machines can reach this address without encryption; a client with the token has full access",
      );
    }
    if (tokenFile !== undefined) session.note(`the token file is ${tokenFile}`);
    session.note("Ctrl-C ends the server; threads continue without it");
    if (open && !openBrowser(server.entry()))
      session.note("no browser found; open the URL yourself");
    const firing =
      plans && !session.clusterChosen ? await startFiring(session, resume === true) : null;
    const note = (text: string): void => session.output.notes.write(`${text}\n`);
    const telemetry = await startTelemetry(session.host, { env: session.env, note });
    if (!signal.aborted) await once(signal, "abort");
    // Ctrl-C stops at once; SIGTERM from a service manager lets requests finish.
    const drain = signal.reason === "SIGTERM";
    await Promise.all([server.stop({ drain }), firing?.stop(), telemetry.stop()]);
  },
});

/** Prints the outcome of a reload of the token file. Programs need the outcome too, so the text is not a note for people. */
function noteTokens({ output }: Session, error: unknown): void {
  const text = error === null ? "" : errorText(toErrorRecord(error));
  output.notes.write(
    text === "" ? "read the token file again\n" : `kept the previous tokens: ${text}`,
  );
}
