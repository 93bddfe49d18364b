import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { ownProgram } from "../session/own-command.ts";
import type { Session } from "../session/session.ts";
import { cacheOf } from "./cache.ts";

/** Options of a worker of a Restate cluster. The cluster's servers reach the worker at these ports and addresses. */
export type ClusterWorkerOptions = {
  port?: number;
  healthPort?: number;
  listen?: string;
  advertise?: string;
  uri?: string;
  cache?: string;
  register?: boolean;
  stateLimit?: boolean;
  identityKey?: string[];
};

const defaultPort = 9080;

/** Drives threads of a Restate cluster until SIGTERM or Ctrl-C. `url` names the cluster. */
export async function runClusterWorker(
  session: Session,
  url: string,
  options: ClusterWorkerOptions,
): Promise<void> {
  const { hasWorkers, joinCluster, reachCluster, readIdentityKey, registerWorker, tokenVariable } =
    await import("@uncaged/workflow-restate/cluster");
  const { serveWorker } = await import("@uncaged/workflow-restate/worker");
  const { planHome, workerEnv } = await import("@uncaged/workflow-plan/worker");
  const { env } = session;
  const { root } = session.openRoot();
  const given = options.identityKey ?? [];
  for (const key of given) readIdentityKey(key);
  const { address, own: local } = reachCluster(url, env, session.clusterFolder);
  const isRegistered = await hasWorkers(address);
  const signal = session.termination();
  const { listen: hostname = "127.0.0.1", port: wanted = defaultPort } = options;
  const { advertise, stateLimit: hasStateLimit } = options;
  const healthPort = options.healthPort ?? (wanted === 0 ? 0 : wanted + 1);
  const cache = options.cache ?? cacheOf(env, wanted === 0 ? `pid-${process.pid}` : String(wanted));
  mkdirSync(cache, { recursive: true, mode: 0o700 });
  const ports = { port: wanted, healthPort, hostname, advertise };
  // The steps of plans use the plan folders of this machine, even for threads that another machine started.
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
  session.show({ host: url, uri, port, healthPort: health, pid: process.pid }, () => "");
  session.note(`a worker of ${url} listens on ${hostname}:${port}; Ctrl-C ends the worker`);
  if (identityKeys.length === 0) {
    session.note("it accepts requests from any client; to verify them: --identity-key KEY");
  }
  if (!signal.aborted) await once(signal, "abort");
  session.note(
    "the worker accepts no more threads, and ends after it has released its running threads",
  );
  await worker.drain();
  await worker.close();
}
