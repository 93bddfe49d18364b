import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { show } from "@uncaged/workflow/internal";
import { wholeNumber } from "../arguments/options.ts";
import { defineCommand } from "../session/command.ts";
import { wrongUse } from "../session/errors.ts";
import { ownProgram } from "../session/own-command.ts";

type Options = {
  port: number;
  healthPort?: number;
  listen: string;
  advertise?: string;
  uri?: string;
  cache?: string;
  register?: boolean;
  stateLimit?: boolean;
  identityKey?: string[];
};

const defaultPort = 9080;

export default defineCommand({
  onCluster: "unused",
  declare: (command) =>
    command
      .option(
        "--port <n>",
        "the port on which the cluster reaches it; 0 takes any free port",
        wholeNumber("--port", 0, 65_535),
        defaultPort,
      )
      .option(
        "--health-port <n>",
        "the port of GET /health and of live events (default: the next one)",
        wholeNumber("--health-port", 0, 65_535),
      )
      .option("--listen <address>", "the address to listen on", "127.0.0.1")
      .option(
        "--advertise <host:port>",
        "address at which others reach its health port, to follow threads live (default: this machine)",
        hostAndPort,
      )
      .option("--uri <uri>", "address of all workers: a balancer in front of them")
      .option("--cache <dir>", "the folder in which it keeps bundles")
      .option(
        "--state-limit",
        "for servers with an eager-state-size-limit, as docs/guides/deploy-cluster.md advises",
      )
      .option(
        "--identity-key <key>",
        "refuse requests that the servers have not signed with this key (repeatable)",
        list,
      )
      .option("--no-register", "leave the workers that the cluster knows unchanged"),
  examples: [
    "uncaged-workflow worker --host restate://127.0.0.1 --port 9080",
    "uncaged-workflow worker --host restate://restate.internal --listen 0.0.0.0 --uri http://workers.internal:9080",
  ],
  async run(session, options: Options) {
    const chosen = session.clusterChosen;
    if (!chosen) throw wrongUse("worker needs a cluster", "name it: --host restate://host:port");
    const {
      hasWorkers,
      joinCluster,
      reachCluster,
      readIdentityKey,
      registerWorker,
      tokenVariable,
    } = await import("@uncaged/workflow-restate/cluster");
    const { serveWorker } = await import("@uncaged/workflow-restate/worker");
    const { planHome, workerEnv } = await import("@uncaged/workflow-plan/worker");
    const { env } = session;
    const { root } = session.openRoot();
    const given = options.identityKey ?? [];
    for (const key of given) readIdentityKey(key);
    const { address, own: local } = reachCluster(chosen.url, env, session.clusterFolder);
    const isRegistered = await hasWorkers(address);
    const signal = session.termination();
    const { listen: hostname, port: wanted, advertise, stateLimit: hasStateLimit } = options;
    const healthPort = options.healthPort ?? (wanted === 0 ? 0 : wanted + 1);
    const cache = options.cache ?? cacheOf(env, wanted);
    mkdirSync(cache, { recursive: true, mode: 0o700 });
    const ports = { port: wanted, healthPort, hostname, advertise };
    // Threads started on another machine can't use a folder of this machine.
    const site = { planHome: planHome(root, env), planRoot: root, planProgram: ownProgram() };
    // Only the worker needs the token. A thread with the token could use the whole cluster.
    const { [tokenVariable]: _, ...threadEnv } = env;
    const own = { ...threadEnv, ...workerEnv(site) };
    const identityKeys = local ? [...given, local.identityKey] : given;
    const report = (problem: string) =>
      session.json ? session.stream({ problem }) : session.note(problem);
    const worker = await serveWorker({
      ...{ address, ...ports, identityKeys, cache, env: own },
      ...{ isolate: true, hasStateLimit, report },
    });
    const { port, healthPort: health } = worker;
    const registers = options.register !== false;
    const joined = local && registers ? joinCluster(local.folder, { port, health }) : null;
    const uri = options.uri ?? joined ?? `http://${hostname}:${port}`;
    if (registers && (options.uri !== undefined || !isRegistered)) {
      await registerWorker(address, uri, { force: true });
    }
    session.show({ host: chosen.url, uri, port, healthPort: health, pid: process.pid }, () => "");
    session.note(`a worker of ${chosen.url} listens on ${hostname}:${port}; Ctrl-C ends it`);
    if (identityKeys.length === 0) {
      session.note("it accepts requests from any client; to verify them: --identity-key KEY");
    }
    if (!signal.aborted) await once(signal, "abort");
    session.note("it takes no more threads, and ends when it has given back its running threads");
    await worker.drain();
    await worker.close();
  },
});

const list = (text: string, before: string[] = []): string[] => [...before, text];

/** Parses the address at which other machines reach a worker: `10.0.0.7:9081`, `[fd00::7]:9081`. */
function hostAndPort(text: string): string {
  const [, port] = /^(?:\[[0-9a-f:]+\]|[\w.-]+):(\d{1,5})$/i.exec(text) ?? [];
  if (Number(port) > 0 && Number(port) <= 65_535) return text;
  throw wrongUse(`--advertise ${show(text)} is not a host with a port`, "write 10.0.0.7:9081");
}

/**
 * Returns the folder for the bundles that a worker downloads from the cluster. Its files may be deleted at any time.
 */
function cacheOf({ XDG_CACHE_HOME, HOME = "/tmp" }: Record<string, string>, port: number): string {
  const base = XDG_CACHE_HOME || join(HOME, ".cache");
  return join(
    base,
    "uncaged-workflow",
    port === 0 ? `worker-pid-${process.pid}` : `worker-${port}`,
  );
}
