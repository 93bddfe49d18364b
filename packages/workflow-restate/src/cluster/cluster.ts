import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ClusterAddress, hostUrl } from "./address.ts";
import { isServerHealthy } from "./admin.ts";
import { nodeConfig, nodeSocket } from "./config.ts";
import { startGateway } from "./gateway.ts";
import { makeKeys, signingKeyFile } from "./keys.ts";
import { end, notStarted, runs, startDetached, type Started } from "./process.ts";
import { findServer, missingServer } from "./program.ts";
import { otherNodeCount } from "./errors.ts";

/** A server of a cluster on this machine. */
export type ClusterNode = Started & { name: string; log: string };

/** Servers of one cluster on this machine. They outlive the process that started them. */
export type Servers = { nodes: ClusterNode[] };

type ServerOptions = { folder: string; nodes?: 1 | 3; binary?: string };

/** Called once the processes exist, even before they are healthy, so that the caller can stop them. */
type OnStart = (started: ClusterNode[]) => void;

/** Longest time until the servers have formed a cluster, in milliseconds. */
const formsMs = 60_000;
/** Time before a stopping server is killed, in milliseconds. Acknowledged writes are on its disk by then. */
const endsMs = 8000;

/**
 * Starts the servers of a cluster on the data in its folder. Resolves when all are healthy. The servers listen only on
 * Unix sockets in the folder and sign their requests to workers with the folder's key: see `makeKeys`.
 *
 * @throws WorkflowError `NO_RESTATE_SERVER`, `CLUSTER_NOT_STARTED`.
 */
export async function startServers(
  { folder, nodes = 1, binary }: ServerOptions,
  onStart?: OnStart,
): Promise<Servers> {
  const program = binary ?? findServer(process.cwd(), process.env);
  if (program === null) throw missingServer();
  checkCount(folder, nodes);
  const all = Array.from({ length: nodes }, (_, index) => `node-${index + 1}`);
  const start = async (fabricPorts: number[] = []) => {
    const started = all.map((name, index) =>
      startNode(program, folder, all, name, fabricPorts[index]),
    );
    onStart?.(started);
    try {
      for (const node of started) await untilHealthy(folder, node);
    } catch (error) {
      await stopServers({ nodes: started });
      throw error;
    }
    return { nodes: started };
  };
  const known = oldFabricPorts(folder);
  if (nodes > 1 && known) {
    await stopServers(await start(known));
    rmSync(join(folder, oldPortsFile));
  }
  return await start();
}

const oldPortsFile = "ports.json";

/**
 * Returns the TCP ports between the nodes of a cluster that an earlier version created; null without them. The nodes
 * listen on these ports during the first start, until all have announced their sockets.
 */
function oldFabricPorts(folder: string): number[] | null {
  const file = join(folder, oldPortsFile);
  if (!existsSync(file)) return null;
  const ports = JSON.parse(readFileSync(file, "utf8")) as { fabric: number }[];
  return ports.map(({ fabric }) => fabric);
}

/** Checks that the number of nodes has not changed since the first start: nodes know each other by name. */
function checkCount(folder: string, nodes: number): void {
  const data = join(folder, "data");
  const known = existsSync(data) ? readdirSync(data).length : 0;
  if (known === 0 || known === nodes) return;
  throw otherNodeCount(folder, known, nodes);
}

function startNode(
  program: string,
  folder: string,
  all: readonly string[],
  name: string,
  fabricPort?: number,
): ClusterNode {
  const config = join(folder, `${name}.toml`);
  const text = nodeConfig({
    ...{ name, cluster: "uncaged-workflow", all },
    provisions: name === all[0],
    signingKey: signingKeyFile(folder),
    fabricPort,
  });
  writeFileSync(config, text, { mode: 0o600 });
  const log = join(folder, `${name}.log`);
  // A killed server leaves files here.
  const TMPDIR = join(folder, "tmp", name);
  rmSync(TMPDIR, { recursive: true, force: true });
  mkdirSync(TMPDIR, { recursive: true, mode: 0o700 });
  const env = { PATH: process.env.PATH ?? "", HOME: folder, TMPDIR, DO_NOT_TRACK: "1" };
  const words = [program, "--config-file", config];
  return { ...startDetached(words, { env, cwd: folder, log, mark: config }), name, log };
}

const socketsOf = (folder: string, { name }: Pick<ClusterNode, "name">) => ({
  ingress: join(folder, nodeSocket(name, "ingress")),
  admin: join(folder, nodeSocket(name, "admin")),
});

/** Whether a node responds as healthy. */
export const isNodeHealthy = (folder: string, node: Pick<ClusterNode, "name">): Promise<boolean> =>
  isServerHealthy(socketsOf(folder, node));

async function untilHealthy(folder: string, node: ClusterNode): Promise<void> {
  for (const late = Date.now() + formsMs; !(await isNodeHealthy(folder, node)); ) {
    if (!runs(node)) throw notStarted(`the server ${node.name} has ended`, node.log);
    if (Date.now() > late) throw notStarted(`the server ${node.name} is not healthy`, node.log);
    await Bun.sleep(50);
  }
}

/** Returns the Unix sockets of one interface, for all nodes. */
export const socketsIn = (
  folder: string,
  nodes: readonly Pick<ClusterNode, "name">[],
  name: "ingress" | "admin",
): string[] => nodes.map((node) => socketsOf(folder, node)[name]);

/** Stops servers and keeps their data. */
export const stopServers = ({ nodes }: Servers): Promise<void> => end(nodes, endsMs);

/** A cluster that ends with the process that started it, for tests. */
export type Cluster = {
  url: string;
  /** Address of the cluster, with the token. */
  address: ClusterAddress;
  /** Public key for the request signatures of the servers. */
  identityKey: string;
  nodes: { pid: number }[];
  /** Starts a stopped or killed node again on its data. */
  restart(index: number): Promise<void>;
  stop(): Promise<void>;
};

/**
 * Starts the servers of a cluster, and gateways in this process in front of them.
 *
 * @throws WorkflowError the errors of {@link startServers}.
 */
export async function startCluster(options: ServerOptions): Promise<Cluster> {
  const { folder } = options;
  const { token, identityKey } = makeKeys(folder);
  const servers = await startServers(options);
  const front = (name: "ingress" | "admin") =>
    startGateway(socketsIn(folder, servers.nodes, name), { token });
  const [ingress, admin] = [front("ingress"), front("admin")];
  const address = {
    ingress: `http://127.0.0.1:${ingress.port}`,
    admin: `http://127.0.0.1:${admin.port}`,
    token,
  };
  return {
    ...{ url: hostUrl(address), address, identityKey },
    get nodes() {
      return servers.nodes.map(({ pid }) => ({ pid }));
    },
    async restart(index) {
      const old = servers.nodes[index];
      if (!old) throw new RangeError(`no node ${index}`);
      await end([old], endsMs);
      const program = options.binary ?? findServer(process.cwd(), process.env);
      if (program === null) throw missingServer();
      const all = servers.nodes.map(({ name }) => name);
      const node = startNode(program, folder, all, old.name);
      servers.nodes[index] = node;
      await untilHealthy(folder, node);
    },
    async stop() {
      await Promise.all([ingress.close(), admin.close()]);
      await stopServers(servers);
    },
  };
}
