import { once } from "node:events";
import { collect, wholeNumber } from "../arguments/options.ts";
import { openBrowser, serveConsole } from "../console/console.ts";
import { noteRecovered } from "../output/recovered.ts";
import { defineCommand } from "../session/command.ts";
import type { Session } from "../session/session.ts";

type Options = {
  port: number;
  listen?: string;
  host?: string;
  open?: boolean;
  allowOrigin?: string[];
  plans?: boolean;
  resume?: boolean;
};

/** Starts plan triggers. Loads their many modules only now, so that the server is reachable sooner. */
async function startFiring(session: Session): Promise<{ stop: () => Promise<void> }> {
  const { fireTriggers } = await import("../plan/firing.ts");
  return fireTriggers(session);
}

const defaultPort = 9160;

export default defineCommand({
  onServer: { refused: "a server serves its own console" },
  declare: (command) =>
    command
      .option(
        "--port <n>",
        "the port; 0 takes any free port",
        wholeNumber("--port", 0, 65_535),
        defaultPort,
      )
      .option("--listen <address>", "the address to listen on (default: 127.0.0.1)")
      .option("--resume", "resume threads that were interrupted within the last day")
      .option("--open", "open the console in the browser")
      .option(
        "--allow-origin <origin>",
        "let pages of another site use the API with the token (repeatable)",
        collect,
      )
      .option("--no-plans", "do not fire the triggers of plans"),
  examples: ["uncaged-workflow serve --open", "uncaged-workflow serve --port 0 --json"],
  async run(
    session,
    { port, listen, host, open, resume, plans = true, allowOrigin: allowOrigins }: Options,
  ) {
    const root = session.hostName;
    // `--host` may also be the address to listen on, unless it names the cluster.
    const hostname =
      listen ?? (session.clusterChosen?.by === "--host" ? undefined : host) ?? "127.0.0.1";
    const signal = session.termination();
    const { isLoopback } = await import("@uncaged/workflow-server");
    const server = await serveConsole(session, {
      ...{ hostname, port, allowOrigins, resume },
      onRecovered: (recovered) => noteRecovered(session, recovered),
    });
    const { url, token } = server;
    const shown = { url, host: hostname, port: server.port, token, root };
    session.show(shown, () => `${url}\n`);
    session.note(`${session.clusterChosen ? "the cluster" : "the storage root"} is ${root}`);
    if (!isLoopback(hostname)) {
      session.note(
        "others can reach this address without encryption; a client with the token may do everything",
      );
    }
    session.note("Ctrl-C ends it; threads continue without it");
    if (open && !openBrowser(server.entry()))
      session.note("no browser was found: open the URL yourself");
    const firing = plans && !session.clusterChosen ? await startFiring(session) : null;
    if (!signal.aborted) await once(signal, "abort");
    await firing?.stop();
    await server.stop();
  },
});
