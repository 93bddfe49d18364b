import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Environment, WorkflowError } from "@uncaged/workflow/host";
import { makeFolder, takeLock, writeFileAtomic } from "@uncaged/workflow/internal";
import { type ClusterAddress, hostUrl, readHostUrl, tokenVariable } from "./address.ts";
import { clusterState, isHealthy, registerWorker } from "./admin.ts";
import { type Backend, startBalancer } from "./balancer.ts";
import { type ClusterNode, isNodeHealthy, socketsIn, startServers } from "./cluster.ts";
import { startGateway } from "./gateway.ts";
import { makeKeys, readKeys } from "./keys.ts";
import { forgetCluster, noteCluster } from "./notes.ts";
import {
  end,
  freePorts,
  isFree,
  notStarted,
  runs,
  startDetached,
  type Started,
} from "./process.ts";
import { clusterBroken, clusterBusy, clusterPortTaken, clusterRuns } from "./errors.ts";

/*
 * A local cluster that outlives the command that started it. `cluster.json` lists its processes. `up` writes the file
 * before and after it starts each process, so that `down` finds all processes even if `up` was killed.
 */

export type LocalWorker = Started & Backend & { log: string };

/** Content of `cluster.json`. */
export type LocalCluster = {
  /** Value for `--host`. */
  host: string;
  /** The shared URI of the workers. */
  uri: string;
  nodes: ClusterNode[];
  workers: LocalWorker[];
  balancer: Started | null;
};

export type UpOptions = {
  /** Folder of the cluster's data. */
  folder: string;
  nodes: 1 | 3;
  workers: number;
  /** Command line of this program, which also runs as worker and balancer. */
  program: readonly string[];
  env: Record<string, string>;
  binary: string;
};

/**
 * Content of the balancer's file: the workers' port and backends, and the ports of the two gateways with their Unix
 * sockets.
 */
type Fronts = {
  workers: { port: number; backends: Backend[] };
  gateways: { port: number; sockets: string[] }[];
};

/**
 * Ports of a cluster. They never change after the first start, because the cluster's address and its workers' URI
 * contain them.
 */
type Ports = [forWorkers: number, ingress: number, admin: number];

const at = (folder: string, file: string): string => join(folder, file);
const stateFile = (folder: string) => at(folder, "cluster.json");
const frontsFile = (folder: string) => at(folder, "balancer.json");
const endsMs = 8000;
const startsMs = 30_000;

/** Returns the cluster in a folder; null when none was started, or it was stopped. */
export function readCluster(folder: string): LocalCluster | null {
  if (!existsSync(stateFile(folder))) return null;
  try {
    return JSON.parse(readFileSync(stateFile(folder), "utf8")) as LocalCluster;
  } catch {
    throw clusterBroken(stateFile(folder));
  }
}

const write = (path: string, value: unknown): void =>
  writeFileAtomic(path, `${JSON.stringify(value, null, 2)}\n`);

/** Runs one action at a time on a cluster's folder. @throws WorkflowError `CLUSTER_BUSY`. */
async function locked<T>(folder: string, act: () => Promise<T>): Promise<T> {
  makeFolder(folder);
  const lock = takeLock(at(folder, "cluster.lock"), 300);
  if (!lock) throw clusterBusy(folder);
  try {
    return await act();
  } finally {
    lock.release();
  }
}

/**
 * Starts a cluster on the data in its folder. Resolves when its workers accept threads.
 *
 * @throws WorkflowError `CLUSTER_RUNS`, `CLUSTER_NOT_STARTED`; after an error no process of the cluster runs.
 */
export const upCluster = (options: UpOptions): Promise<LocalCluster> =>
  locked(options.folder, async () => {
    const { folder } = options;
    const before = readCluster(folder);
    if (before && before.nodes.some(runs)) throw runsAlready(folder, before);
    if (before) await endAll(folder, before);
    const cluster: LocalCluster = { host: "", uri: "", nodes: [], workers: [], balancer: null };
    try {
      await startAll(options, cluster);
      return cluster;
    } catch (error) {
      await endAll(folder, cluster);
      throw error;
    }
  });

function runsAlready(folder: string, cluster: LocalCluster): WorkflowError {
  const all = allOf(cluster);
  return clusterRuns(folder, cluster.host, { running: all.filter(runs).length, all: all.length });
}

async function startAll(options: UpOptions, cluster: LocalCluster): Promise<void> {
  const { folder, nodes, binary, workers } = options;
  const remember = () => write(stateFile(folder), cluster);
  const { token } = makeKeys(folder);
  const servers = await startServers({ folder, nodes, binary }, (started) => {
    cluster.nodes = started;
    remember();
  });
  const ports = await portsOf(folder);
  const [forWorkers, ingress, admin] = ports;
  const address: ClusterAddress = {
    ingress: `http://127.0.0.1:${ingress}`,
    admin: `http://127.0.0.1:${admin}`,
    token,
  };
  cluster.host = hostUrl(address);
  cluster.uri = `http://127.0.0.1:${forWorkers}`;
  for (const port of ports) {
    if (!(await isFree(port))) throw clusterPortTaken(folder, port);
  }
  const fronts: Fronts = {
    workers: { port: forWorkers, backends: [] },
    gateways: [
      { port: ingress, sockets: socketsIn(folder, servers.nodes, "ingress") },
      { port: admin, sockets: socketsIn(folder, servers.nodes, "admin") },
    ],
  };
  write(frontsFile(folder), fronts);
  const log = at(folder, "balancer.log");
  const words = [...options.program, "cluster", "__balance", folder];
  const env = without(options.env, tokenVariable);
  cluster.balancer = startDetached(words, { env, log, mark: folder });
  remember();
  await until(() => isHealthy(address), "the balancer does not answer", log);
  noteCluster(folder, address, options.env);
  for (let number = 1; number <= workers; number += 1) {
    cluster.workers.push(await startWorker({ ...options, env }, cluster, number));
    remember();
  }
  await Promise.all(cluster.workers.map(untilReady));
  const backends = cluster.workers.map(({ port, health }) => ({ port, health }));
  write(frontsFile(folder), { ...fronts, workers: { port: forWorkers, backends } });
  if (workers > 0) await registerSoon(address, cluster.uri, log);
}

/**
 * Removes a variable. Processes of a cluster read the token from its folder; the variable may hold the token of another
 * cluster.
 */
function without(env: Record<string, string>, name: string): Record<string, string> {
  const { [name]: _, ...others } = env;
  return others;
}

async function portsOf(folder: string): Promise<Ports> {
  const file = at(folder, "fronts.json");
  const known = readNumbers(file);
  if (known.length === 3) return known as Ports;
  // Clusters of one server from earlier versions have no gateway: their server has the ports of ingress and admin
  // interface.
  const [forWorkers] = known;
  const { ingress, admin } = oldPorts(folder);
  const given = forWorkers && ingress && admin ? [forWorkers, ingress, admin] : null;
  const ports = (given ?? (await freePorts(3))) as Ports;
  write(file, ports);
  return ports;
}

const readNumbers = (file: string): number[] =>
  existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as number[]) : [];

function oldPorts(folder: string): { ingress?: number; admin?: number } {
  const file = at(folder, "ports.json");
  if (!existsSync(file)) return {};
  return (JSON.parse(readFileSync(file, "utf8")) as { ingress: number; admin: number }[])[0] ?? {};
}

async function startWorker(
  { folder, program, env }: UpOptions,
  { host }: LocalCluster,
  number: number,
): Promise<LocalWorker> {
  const [port = 0, health = 0] = await freePorts(2);
  const log = at(folder, `worker-${number}.log`);
  const words = [
    ...[...program, "worker", "--host", host, "--port", `${port}`],
    ...["--health-port", `${health}`, "--no-register", "--state-limit"],
  ];
  const started = startDetached(words, { env, log, mark: `--host ${host} --port ${port}` });
  return { ...started, port, health, log };
}

async function untilReady(worker: LocalWorker): Promise<void> {
  const url = `http://127.0.0.1:${worker.health}/health`;
  const isReady = async () => {
    if (!runs(worker)) throw notStarted("a worker has ended", worker.log);
    return await fetch(url).then(
      ({ ok }) => ok,
      () => false,
    );
  };
  await until(isReady, "a worker is not ready", worker.log);
}

async function until(is: () => Promise<boolean>, what: string, log: string): Promise<void> {
  for (const late = Date.now() + startsMs; !(await is()); await Bun.sleep(25)) {
    if (Date.now() > late) throw notStarted(what, log);
  }
}

/** Registers the workers' URI. Retries until the balancer responds. */
async function registerSoon(address: ClusterAddress, uri: string, log: string): Promise<void> {
  let last: unknown = null;
  const registered = () =>
    registerWorker(address, uri, { force: true }).then(
      () => true,
      (error: unknown) => {
        last = error;
        return false;
      },
    );
  try {
    await until(registered, "the workers can't be registered", log);
  } catch (error) {
    throw last ?? error;
  }
}

/** Stops a cluster; with `data` also deletes its stored data. Returns whether a cluster ran. */
export const downCluster = (
  folder: string,
  { data = false, env }: { data?: boolean; env: Environment },
): Promise<boolean> =>
  locked(folder, async () => {
    const cluster = readCluster(folder);
    const ran = cluster !== null && allOf(cluster).some(runs);
    if (cluster) {
      await endAll(folder, cluster);
      if (cluster.host !== "") forgetCluster(folder, readHostUrl(cluster.host, {}), env);
    }
    if (data) rmSync(folder, { recursive: true, force: true });
    return ran;
  });

const allOf = ({ nodes, workers, balancer }: LocalCluster): Started[] => [
  ...workers,
  ...(balancer ? [balancer] : []),
  ...nodes,
];

// Workers stop first: they release their threads while the servers run.
async function endAll(folder: string, cluster: LocalCluster): Promise<void> {
  await end(cluster.workers, endsMs);
  await end(cluster.balancer ? [cluster.balancer] : [], endsMs);
  await end(cluster.nodes, endsMs);
  rmSync(stateFile(folder), { force: true });
}

/** Returns the processes of a cluster and whether each runs. */
export async function clusterStatus(folder: string) {
  const cluster = readCluster(folder);
  if (!cluster) return null;
  const { host, uri, nodes, workers, balancer } = cluster;
  const token = readKeys(folder)?.token ?? null;
  const address = host === "" ? null : { ...readHostUrl(host, {}), token };
  const isUp = address !== null && (await isHealthy(address));
  const state = isUp ? await clusterState(address) : null;
  return {
    host,
    uri,
    healthy: isUp,
    version: state?.version ?? null,
    servers: await Promise.all(
      nodes.map(async (node) => ({
        ...{ name: node.name, pid: node.pid, running: runs(node) },
        healthy: await isNodeHealthy(folder, node),
      })),
    ),
    workers: workers.map((worker) => ({
      ...{ pid: worker.pid, port: worker.port, running: runs(worker) },
    })),
    balancer: balancer && { pid: balancer.pid, running: runs(balancer) },
  };
}

/** Runs the balancer process: serves the ports in the cluster's file until the signal is aborted. */
export async function balance(folder: string, signal: AbortSignal): Promise<void> {
  const read = () => JSON.parse(readFileSync(frontsFile(folder), "utf8")) as Fronts;
  const keys = readKeys(folder);
  if (!keys) throw new Error(`${folder}: missing keys`);
  const { workers, gateways } = read();
  const all = [
    await startBalancer(workers.backends, workers),
    ...gateways.map(({ port, sockets }) => startGateway(sockets, { port, token: keys.token })),
  ] as const;
  while (!signal.aborted) {
    await Bun.sleep(100);
    if (existsSync(frontsFile(folder))) all[0].use(read().workers.backends);
  }
  await Promise.all(all.map((one) => one.close()));
}

/**
 * Adds a worker to the balancer of the cluster in a folder. Returns the workers' URI; null when no cluster runs there.
 */
export function joinCluster(folder: string, worker: Backend): string | null {
  const cluster = readCluster(folder);
  if (!cluster) return null;
  const fronts = JSON.parse(readFileSync(frontsFile(folder), "utf8")) as Fronts;
  const { port, backends } = fronts.workers;
  const others = backends.filter((one) => one.port !== worker.port);
  write(frontsFile(folder), { ...fronts, workers: { port, backends: [...others, worker] } });
  return cluster.uri;
}
