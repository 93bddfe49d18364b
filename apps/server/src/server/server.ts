import {
  type Host,
  readServerAddress,
  show,
  WorkflowError,
  writeServerAddress,
} from "@uncaged/workflow/host";
import { ConsoleFiles, consoleFolder } from "../console/console.ts";
import { noToken, wantsPage } from "../console/plain-page.ts";
import { errorResponseTo } from "../guard/error-response.ts";
import { checkRequest, bracketed, type Access, ownHosts, protect } from "../guard/guard.ts";
import { EntryCodes, newToken } from "../guard/token.ts";
import { Spendings } from "../routes/spent.ts";
import { ChangeFeed } from "../stream/changes.ts";
import { Connections, type StreamLimits } from "../stream/connections.ts";
import { ThreadFeeds } from "../stream/listener.ts";
import { makeApp } from "./app.ts";

export type ServerOptions = {
  host: Host;
  hostname: string;
  /** The port; 0 takes any that is free. */
  port: number;
  /** The environment and folder of threads that are started here. */
  env: Record<string, string>;
  cwd: string;
  version: string;
  console?: string;
  streams?: Partial<StreamLimits>;
};

/** A server that listens. `url` has the token in it, which permits everything. */
export type RunningServer = {
  readonly url: string;
  readonly token: string;
  readonly port: number;
  /** A URL that gives one browser access, once, within a minute: for the program that opens it. */
  entry(): string;
  stop(): Promise<void>;
};

// An answer may take its time: a source is built, a worker is asked. Streams have no such limit.
const longestSilenceS = 180;
const defaultStreams = { most: 12_000, patienceMs: 30_000, heartbeatMs: 15_000 };
// So that a body above a route's limit gets an error response of ours, and not the runtime's.
const mostReceived = 1024 * 1024 * 1024;

/**
 * Serves a host by HTTP: the API under `/api`, the console everywhere else. Its address and its token are
 * written to the storage root. The token of the previous server is used again, so that open pages stay
 * signed in.
 *
 * @throws WorkflowError `PORT_IN_USE`, `BAD_HOST` (usage), and those of the disk.
 */
export function startServer(options: ServerOptions): RunningServer {
  const { host, hostname, version, env, cwd } = options;
  const { root } = host;
  const token = readServerAddress(root)?.token ?? newToken();
  const connections = new Connections({ ...defaultStreams, ...options.streams });
  const app = makeApp(
    {
      ...{ host, env, cwd, version, connections },
      startedAt: Date.now(),
      threadFeeds: new ThreadFeeds(host),
      changes: new ChangeFeed(host),
      spendings: new Spendings(host),
    },
    new ConsoleFiles(options.console ?? consoleFolder()),
  );
  let access: Access | null = null;
  const server = listen(options, async (request, own) => {
    try {
      if (!access) throw new Error("not ready");
      const redirect = checkRequest(request, access);
      const response = redirect ?? (await app.fetch(request));
      if (isStream(response)) own.timeout(request, 0);
      return protect(response);
    } catch (error) {
      const { status, body } = errorResponseTo(request, error, root);
      if (status === 500) console.error(error);
      const isPage = status === 401 && wantsPage(request);
      return protect(isPage ? noToken() : Response.json(body, { status }));
    }
  });
  const port = server.port ?? options.port;
  const codes = new EntryCodes();
  access = { hosts: ownHosts(hostname, port), token, port, codes };
  const url = `http://${bracketed(shownHost(hostname))}:${port}`;
  try {
    writeServerAddress(root, { url, token, pid: process.pid });
  } catch (error) {
    void server.stop(true);
    throw error;
  }
  return {
    url: `${url}/?token=${token}`,
    token,
    port,
    entry: () => `${url}/?code=${codes.make()}`,
    async stop() {
      connections.close();
      await server.stop(true);
    },
  };
}

const isStream = ({ headers }: Response): boolean =>
  headers.get("Content-Type") === "text/event-stream";

// Nobody can open a page at the address that means all addresses.
const shownHost = (host: string): string =>
  host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;

type Serve = (request: Request, server: Bun.Server<undefined>) => Promise<Response>;

function listen({ hostname, port }: ServerOptions, fetch: Serve): Bun.Server<undefined> {
  // To Bun no name means every address.
  if (hostname.trim() === "") throw cantListen(hostname, port, null);
  try {
    return Bun.serve({
      hostname,
      port,
      idleTimeout: longestSilenceS,
      maxRequestBodySize: mostReceived,
      development: false,
      // Without development Bun lets a second process listen on the same port.
      reusePort: false,
      fetch,
    });
  } catch (cause) {
    throw cantListen(hostname, port, cause);
  }
}

function cantListen(hostname: string, port: number, cause: unknown): WorkflowError {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  if (code === "EADDRINUSE") {
    return WorkflowError.failed(
      "PORT_IN_USE",
      `port ${port} of ${hostname} is in use`,
      "a server may run already; else take another: --port 0 takes any that is free",
    );
  }
  return WorkflowError.usage(
    "BAD_HOST",
    `can't listen on port ${port} of ${show(hostname)}${code ? `: ${code}` : ""}`,
    "give an address of this machine: --host 127.0.0.1",
  );
}
