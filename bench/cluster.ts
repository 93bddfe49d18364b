import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type Balancer,
  type Cluster,
  findServer,
  noServer,
  registerWorker,
  startBalancer,
  startCluster,
} from "../packages/workflow-restate/src/cluster.ts";
import { ClusterClient } from "../packages/workflow-restate/src/client/client.ts";
import { openRestateHost, type RestateHost } from "../packages/workflow-restate/src/index.ts";
import type { Built } from "./command.ts";
import type { Line, Row } from "./row.ts";
import { limitToShare } from "./share.ts";
import { bundlePath } from "./store.ts";

const bareProgram = fileURLToPath(
  new URL("../packages/workflow-restate/bench/bare.ts", import.meta.url),
);

type Backend = { port: number; health: number };

/** A cluster of one server with workers, the bench's bundle in it, and a program of bare handlers. */
export type Bench = {
  host: RestateHost;
  hash: string;
  client: ClusterClient;
  folder: string;
  /** Has that many workers take the threads from now on. */
  work(workers: number): Promise<void>;
  /** Gives each worker that was started a share of a core; false where that can't be done. */
  limit(share: number): boolean;
  /** Calls a handler of the bare program; `send` does not wait for its reply. */
  bare(handler: string, body: object, send?: "send"): Promise<number>;
};

/** A row of a cluster; nothing is measured on a machine without a Restate server. */
export const clusterRow = (
  name: string,
  built: Built,
  measure: (bench: Bench) => Promise<Line[]>,
): Row => ({
  name,
  async measure(folder) {
    if (findServer(folder, process.env) === null) {
      console.error(`${name} is skipped: ${noServer().message}`);
      return [];
    }
    return await inCluster(folder, built, measure);
  },
});

async function inCluster<T>(
  folder: string,
  built: Built,
  act: (bench: Bench) => Promise<T>,
): Promise<T> {
  const own = mkdtempSync(join(folder, "cluster-"));
  const children: Bun.Subprocess[] = [];
  const workers: Bun.Subprocess[] = [];
  const unlimit: (() => void)[] = [];
  const cluster = await startCluster({ folder: join(own, "servers") });
  let balancer: Balancer | null = null;
  let host: RestateHost | null = null;
  try {
    balancer = await startBalancer([]);
    const parts = { own, built, cluster, balancer, children, workers };
    const { address } = cluster;
    const bare = await startBare(parts);
    await registerWorker(address, `http://127.0.0.1:${bare}`);
    const work = workingIn(parts);
    await work(1);
    await registerWorker(address, `http://127.0.0.1:${balancer.port}`);
    host = openRestateHost(address, { cache: join(own, "mirror") });
    const { hash } = await host.store(bundlePath);
    const call = async (handler: string, body: object, send?: "send") => {
      const url = `${address.ingress}/bare/${handler}${send ? "/send" : ""}`;
      const headers = { "content-type": "application/json" };
      const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
      if (!response.ok) throw new Error(await response.text());
      return Number(await response.text());
    };
    return await act({
      ...{ host, hash, client: new ClusterClient(address), folder: own, work, bare: call },
      limit: (share) =>
        workers.every(({ pid }) => {
          const remove = limitToShare(pid, share);
          if (remove) unlimit.push(remove);
          return remove !== null;
        }),
    });
  } finally {
    await host?.close();
    for (const child of children) child.kill("SIGKILL");
    await Promise.all(children.map(({ exited }) => exited));
    for (const remove of unlimit) remove();
    await balancer?.close();
    await cluster.stop();
  }
}

type Parts = {
  own: string;
  built: Built;
  cluster: Cluster;
  balancer: Balancer;
  children: Bun.Subprocess[];
  workers: Bun.Subprocess[];
};

/** Starts as many workers as were never started yet, and puts as many as are wanted behind the balancer. */
function workingIn(parts: Parts): Bench["work"] {
  const backends: Backend[] = [];
  return async (workers) => {
    while (backends.length < workers) backends.push(await startWorker(parts, backends.length));
    // Connections that are there would go on to carry what comes.
    parts.balancer.use([]);
    parts.balancer.use(backends.slice(0, workers));
  };
}

async function startWorker(
  { own, built, cluster, children, workers }: Parts,
  number: number,
): Promise<Backend> {
  const words = [
    "worker",
    "--host",
    cluster.url,
    "--port",
    "0",
    "--no-register",
    "--json",
    "--state-limit",
  ];
  const cache = join(own, `worker-${number}`);
  const child = Bun.spawn([built.command, ...words, "--cache", cache], {
    env: { ...process.env, UNCAGED_WORKFLOW_STORAGE_ROOT: join(own, "root") },
    stdin: "ignore",
    stdout: "pipe",
    stderr: Bun.file(join(own, `worker-${number}.log`)),
  });
  children.push(child);
  workers.push(child);
  const printed = await firstLine(child.stdout);
  const { port, healthPort } = JSON.parse(printed) as { port?: number; healthPort?: number };
  if (!port || !healthPort) throw new Error(printed);
  return { port, health: healthPort };
}

async function startBare({ children }: Parts): Promise<number> {
  const child = Bun.spawn([process.execPath, bareProgram], { stdin: "ignore", stdout: "pipe" });
  children.push(child);
  return Number(await firstLine(child.stdout));
}

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  const { value } = await stream.getReader().read();
  return new TextDecoder().decode(value).trim();
}
