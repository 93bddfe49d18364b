import {
  Families,
  readServerAddress,
  type Root,
  show,
  WorkflowError,
  writeServerAddress,
} from "@uncaged/workflow/host";
import { ConsoleFiles, consoleFolder } from "../console/console.ts";
import { noToken, wantsPage } from "../console/plain-page.ts";
import { ChangeFeed } from "../feed/change-feed.ts";
import { watchChanges } from "../feed/changes.ts";
import { Feeds } from "../feed/feeds.ts";
import { LiveThreads } from "../feed/live.ts";
import { Streams } from "../feed/streams.ts";
import { EntryCodes } from "../guard/entry.ts";
import { admit, type Gate, protect } from "../guard/guard.ts";
import { bracketed, ownHosts } from "../guard/host.ts";
import { newToken } from "../guard/token.ts";
import { Spendings } from "../routes/spendings.ts";
import { refusalTo } from "../runs/refusal.ts";
import { makeApp } from "./app.ts";

/** What a server needs. */
export type ServerOptions = {
  root: Root;
  /** The address to listen on. */
  host: string;
  /** The port; 0 takes any that is free. */
  port: number;
  /** What threads that are started here get. */
  env: Record<string, string>;
  cwd: string;
  version: string;
  /** The built console; the one of this repository when absent. */
  console?: string;
  /** How many streams may be open, and how long one may take nothing before it is dropped. */
  streams?: { most: number; patienceMs: number };
};

/** A server that listens. `url` brings the token: whoever has it may do everything. */
export type RunningServer = {
  readonly url: string;
  readonly token: string;
  readonly port: number;
  /** A URL that lets one browser in, once, within a minute: to be handed to whatever opens it. */
  entry(): string;
  /** Closes every connection, and the port. */
  stop(): Promise<void>;
};

// An answer may take its time: a source is built, a worker is asked. Streams have no such limit.
const longestSilenceS = 180;
const defaultStreams = { most: 12_000, patienceMs: 30_000 };
// What is longer than any route takes is refused with a body of ours as long as the system lets us.
const mostReceived = 1024 * 1024 * 1024;

/**
 * Serves a storage root by HTTP: the API under `/api`, the console everywhere else. Its address and its
 * token go to the storage root, where the token of the server before is taken up again: pages that were
 * open stay signed in.
 *
 * @throws WorkflowError `PORT_IN_USE`, `BAD_HOST` (usage), and those of the disk.
 */
export function startServer(options: ServerOptions): RunningServer {
  const { root, host, version, env, cwd } = options;
  const token = readServerAddress(root)?.token ?? newToken();
  const live = new LiveThreads(root);
  const streams = new Streams(options.streams ?? defaultStreams);
  const app = makeApp(
    {
      root,
      env,
      cwd,
      version,
      startedAt: Date.now(),
      feeds: new Feeds(root, live),
      changes: new ChangeFeed((signal) => watchChanges(root, live, signal)),
      streams,
      families: new Families(root),
      spendings: new Spendings(root),
    },
    new ConsoleFiles(options.console ?? consoleFolder()),
  );
  let gate: Gate | null = null;
  const server = listen(options, async (request, own) => {
    try {
      if (!gate) throw new Error("not ready");
      const entry = admit(request, gate);
      const response = entry ?? (await app.fetch(request));
      if (isStream(response)) own.timeout(request, 0);
      return protect(response);
    } catch (error) {
      const { status, body } = refusalTo(request, error, root);
      if (status === 500) console.error(error);
      const isPage = status === 401 && wantsPage(request);
      return protect(isPage ? noToken() : Response.json(body, { status }));
    }
  });
  const port = server.port ?? options.port;
  const codes = new EntryCodes();
  gate = { hosts: ownHosts(host, port), token, port, codes };
  const url = `http://${bracketed(shownHost(host))}:${port}`;
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
      streams.close();
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

function listen({ host, port }: ServerOptions, fetch: Serve): Bun.Server<undefined> {
  // To Bun no name means every address.
  if (host.trim() === "") throw cantListen(host, port, null);
  try {
    return Bun.serve({
      hostname: host,
      port,
      idleTimeout: longestSilenceS,
      maxRequestBodySize: mostReceived,
      development: false,
      // Without development Bun lets a second process listen on the same port.
      reusePort: false,
      fetch,
    });
  } catch (cause) {
    throw cantListen(host, port, cause);
  }
}

function cantListen(host: string, port: number, cause: unknown): WorkflowError {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  if (code === "EADDRINUSE") {
    return new WorkflowError(
      {
        code: "PORT_IN_USE",
        kind: "failed",
        message: `port ${port} of ${host} is in use`,
        hint: "a server may run already; else take another: --port 0 takes any that is free",
      },
      { cause },
    );
  }
  return new WorkflowError(
    {
      code: "BAD_HOST",
      kind: "usage",
      message: `can't listen on port ${port} of ${show(host)}${code ? `: ${code}` : ""}`,
      hint: "give an address of this machine: --host 127.0.0.1",
    },
    { cause },
  );
}
