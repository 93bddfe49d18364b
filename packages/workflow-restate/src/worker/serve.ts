import { createServer as createHealthServer, type Server } from "node:http";
import { networkInterfaces } from "node:os";
import { createServer as createHttp2Server, type Http2Server, type Http2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import { createEndpointHandler } from "@restatedev/restate-sdk";
import { isolate as isolateBundles, recordEvents } from "@uncaged/workflow/store";
import type { Environment } from "@uncaged/workflow/host";
import { ClusterClient } from "../client/client.ts";
import type { ClusterAddress } from "../cluster/address.ts";
import { Clock } from "../cluster/clock.ts";
import { signatureCheck } from "../cluster/identity.ts";
import { tokenCheck } from "../cluster/token.ts";
import { planObject } from "../service/plan.ts";
import { bundleObject, indexObject, workflowObject } from "../service/store.ts";
import { threadObject } from "../service/thread.ts";
import { Driver } from "./drive.ts";
import { LiveClaims } from "./live.ts";
import { portTaken } from "./errors.ts";

/** Options of {@link serveWorker}. */
export type WorkerOptions = {
  address: ClusterAddress;
  /** Port for the cluster's requests; 0 picks a free port. `healthPort` serves health checks and event streams. */
  port: number;
  healthPort?: number;
  hostname?: string;
  /**
   * `host:port` at which others reach the health port; defaults to the listen address, or to an address of this
   * machine.
   */
  advertise?: string;
  /** Folder of this worker for bundles and files of driven threads. It may be deleted after the worker has ended. */
  cache: string;
  /** Environment of threads. The worker never writes it to a log. */
  env: Environment;
  /** Working folder of threads; defaults to the folder in which each thread was started, on this machine. */
  cwd?: string;
  /**
   * Whether the servers send only the first values of a thread along with a call, by their `eager-state-size-limit` (8
   * KiB are enough). An append to a long thread then needs no separate read.
   */
  hasStateLimit?: boolean;
  /**
   * Public keys of the servers. The worker refuses requests without a signature by one of these keys. Without keys, it
   * does not check signatures.
   */
  identityKeys?: readonly string[];
  /**
   * Whether bundles own this process: their output goes to the logs of their threads, and they can't end the process.
   */
  isolate?: boolean;
  /**
   * Called with one line when this worker can't drive a thread, for example without its bundle, or can't drive any
   * thread.
   */
  report?: (line: string) => void;
};

/** A serving worker. It drives threads until `drain`. */
export type ServedWorker = {
  port: number;
  healthPort: number;
  /**
   * Releases every thread at its next yield, so that other workers continue it. Resolves when all are released. Aborts
   * a role that still runs after 10 seconds; another worker runs it again.
   */
  drain(): Promise<void>;
  close(): Promise<void>;
};

const drainMs = 10_000;
const releaseMs = 6_000;
const clockEveryMs = 10_000;
let isRecording = false;

/**
 * Serves the objects of a cluster and drives its threads in this process. A worker keeps no state: any number of
 * workers serve one cluster behind one address.
 *
 * @throws WorkflowError `CLOCK_OFF` when this machine's clock is too far from the cluster's clock, `PORT_TAKEN`,
 * `BAD_IDENTITY_KEY`, and the errors of a storage root for the cache.
 */
export async function serveWorker(options: WorkerOptions): Promise<ServedWorker> {
  const { address, port, healthPort = 0, hostname = "127.0.0.1", isolate = false } = options;
  const { identityKeys = [] } = options;
  const clock = new Clock(address);
  const isSigned =
    identityKeys.length === 0 ? () => true : signatureCheck(identityKeys, () => clock.now);
  await clock.compare();
  if (clock.problem && clock.isRefused) throw clock.problem;
  const live = new LiveClaims();
  const driver = new Driver({ ...options, client: new ClusterClient(address), live });
  if (!isRecording) recordEvents();
  isRecording = true;
  if (isolate) isolateBundles(driver);
  let isDraining = false;
  const services = [
    threadObject((order) => driver.drive(order), driver.mask),
    bundleObject,
    workflowObject,
    indexObject,
    planObject,
  ];
  const endpoint = createEndpointHandler({ services, logger: () => undefined });
  const server = createHttp2Server((request, response) => {
    const { pathname } = new URL(request.url, "http://worker");
    if (isSigned(pathname, request.headers)) endpoint(request, response);
    else response.writeHead(401).end("missing or invalid signature of a server\n");
  });
  const connections = new Connections(server, () => driver.isDraining);
  const isAllowed = address.token === null ? () => true : tokenCheck(address.token);
  const health = createHealthServer((request, response) => {
    if (live.answer(request, response)) return;
    const isKnown = request.url === "/health";
    const isReady = !isDraining && !clock.isRefused;
    response.writeHead(isKnown ? (isReady ? 200 : 503) : 404, { connection: "close" });
    const known = {
      draining: isDraining,
      ...(isAllowed(request.headers.authorization) && { threads: driver.count }),
    };
    response.end(isKnown ? JSON.stringify(known) : "");
  });
  const healthAt = await listen(health, healthPort, hostname);
  live.advertise(options.advertise ?? `${ownAddress(hostname)}:${healthAt}`);
  const servedAt = await listen(server as unknown as Server, port, hostname).catch((error) => {
    health.close();
    throw error;
  });
  const watch = watchClock(clock, {
    report: options.report,
    refuse() {
      driver.drain();
      connections.closeIdle();
    },
    accept: () => void (isDraining || driver.accept()),
  });
  const drain = async () => {
    isDraining = true;
    clearInterval(watch);
    driver.drain();
    connections.closeIdle();
    const isIn = (late: number) => driver.count > 0 && Date.now() < late;
    for (const late = Date.now() + drainMs; isIn(late); ) await Bun.sleep(20);
    driver.release();
    for (const late = Date.now() + releaseMs; isIn(late); ) await Bun.sleep(20);
  };
  return {
    port: servedAt,
    healthPort: healthAt,
    drain,
    async close() {
      await drain();
      connections.destroy();
      server.close();
      health.close();
      health.closeAllConnections();
    },
  };
}

/**
 * Connections of the cluster to this worker. A draining worker closes idle connections, because an open connection
 * would bring released threads back. A connection that drives a thread stays open, because the cluster counts its
 * threads as lost when the connection starts to close.
 */
class Connections {
  readonly #streams = new Map<Http2Session, number>();
  readonly #isDraining: () => boolean;

  constructor(server: Http2Server, isDraining: () => boolean) {
    this.#isDraining = isDraining;
    server.on("session", (session) => {
      this.#streams.set(session, 0);
      session.on("close", () => this.#streams.delete(session));
      session.on("error", () => session.destroy());
    });
    server.on("stream", (stream) => {
      const { session } = stream;
      if (!session) return;
      this.#count(session, 1);
      stream.once("close", () => this.#count(session, -1));
    });
  }

  closeIdle(): void {
    for (const [session, streams] of this.#streams) if (streams === 0) session.close();
  }

  #count(session: Http2Session, change: number): void {
    const streams = this.#streams.get(session);
    if (streams === undefined) return;
    this.#streams.set(session, streams + change);
    if (change < 0 && this.#isDraining()) this.closeIdle();
  }

  destroy(): void {
    for (const session of this.#streams.keys()) session.destroy();
  }
}

/**
 * Compares the clocks periodically. While this machine's clock is too far off, its threads are released as in a drain.
 * Reports each change in one line.
 */
function watchClock(
  clock: Clock,
  acts: { report: WorkerOptions["report"]; refuse: () => void; accept: () => void },
): ReturnType<typeof setInterval> {
  let before = "";
  const look = () => {
    const { problem, isRefused } = clock;
    const now = problem ? (isRefused ? "refused" : "off") : "";
    if (now === before) return;
    if (isRefused) acts.refuse();
    else acts.accept();
    const what = isRefused ? "; it drives no threads" : "";
    if (problem) acts.report?.(`${problem.message}${what}; hint: ${problem.hint}`);
    else acts.report?.("the clock of this machine is correct again");
    before = now;
  };
  look();
  return setInterval(() => void clock.compare().then(look), clockEveryMs);
}

/**
 * Returns the address of a server for clients: its listen address, or the first non-loopback address when it listens on
 * all.
 */
function ownAddress(hostname: string): string {
  if (hostname !== "0.0.0.0" && hostname !== "::")
    return hostname.includes(":") ? `[${hostname}]` : hostname;
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return all.find(({ family, internal }) => family === "IPv4" && !internal)?.address ?? "127.0.0.1";
}

async function listen(server: Server, port: number, hostname: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  server.once("error", (error) => reject(portTaken(port, error)));
  server.listen(port, hostname, () => resolve((server.address() as AddressInfo).port));
  return await promise;
}
