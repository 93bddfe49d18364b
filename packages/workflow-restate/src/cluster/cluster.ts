import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { WorkflowError } from "@uncaged/workflow/host";
import { type ClusterAddress, hostUrl } from "./address.ts";
import { isHealthy } from "./admin.ts";
import { type Balancer, startBalancer } from "./balancer.ts";
import { nodeConfig, type NodePorts } from "./config.ts";
import { end, freePorts, notStarted, runs, startDetached, type Started } from "./process.ts";
import { findServer, noServer } from "./program.ts";

/** A server of a cluster on this machine. */
export type ClusterNode = Started & { name: string; ports: NodePorts; log: string };

/** Servers of this machine that are one cluster. They go on when the process that started them ends. */
export type Servers = { nodes: ClusterNode[] };

type ServerOptions = { folder: string; nodes?: 1 | 3; binary?: string };

/** Called as soon as the processes run, healthy or not: whoever must end them knows them from then on. */
type OnStart = (started: ClusterNode[]) => void;

/** How long servers may take to form a cluster. */
const formsMs = 60_000;
/** How long a server may take to end. What it has acknowledged is on its disk at any time. */
const endsMs = 8000;

const portsFile = "ports.json";

/**
 * Starts the servers of a cluster on loopback, with what the folder has of an earlier start, and returns when all are
 * healthy.
 *
 * @throws WorkflowError `NO_RESTATE_SERVER`, `CLUSTER_NOT_STARTED`.
 */
export async function startServers(
  { folder, nodes = 1, binary }: ServerOptions,
  onStart?: OnStart,
): Promise<Servers> {
  const program = binary ?? findServer(process.cwd(), process.env);
  if (program === null) throw noServer();
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const ports = await portsOf(folder, nodes);
  const started = ports.map((own, index) => startNode(program, folder, ports, own, index));
  onStart?.(started);
  try {
    for (const node of started) await untilHealthy(node);
  } catch (error) {
    await stopServers({ nodes: started });
    throw error;
  }
  return { nodes: started };
}

/** The ports of the nodes: those of the first start, for the nodes of a cluster know each other by them. */
async function portsOf(folder: string, nodes: number): Promise<NodePorts[]> {
  const file = join(folder, portsFile);
  if (existsSync(file)) {
    const known = JSON.parse(readFileSync(file, "utf8")) as NodePorts[];
    if (known.length === nodes) return known;
    const message = `the cluster in ${folder} has ${known.length} nodes, not ${nodes}`;
    throw WorkflowError.failed("CLUSTER_NOT_STARTED", message, `give --nodes ${known.length}`);
  }
  const free = await freePorts(nodes * 3);
  const ports = Array.from({ length: nodes }, (_, index): NodePorts => {
    const [ingress = 0, admin = 0, fabric = 0] = free.slice(index * 3);
    return { ingress, admin, fabric };
  });
  writeFileSync(file, JSON.stringify(ports), { mode: 0o600 });
  return ports;
}

function startNode(
  program: string,
  folder: string,
  all: readonly NodePorts[],
  ports: NodePorts,
  index: number,
): ClusterNode {
  const name = `node-${index + 1}`;
  const config = join(folder, `${name}.toml`);
  const text = nodeConfig({
    ...{ name, cluster: "uncaged-workflow", folder: join(folder, "data"), ports },
    fabric: all.map(({ fabric }) => fabric),
    provisions: index === 0,
  });
  writeFileSync(config, text, { mode: 0o600 });
  const log = join(folder, `${name}.log`);
  // What a server that is killed leaves there is gone with its next start, or with its data.
  const TMPDIR = join(folder, "tmp", name);
  rmSync(TMPDIR, { recursive: true, force: true });
  mkdirSync(TMPDIR, { recursive: true, mode: 0o700 });
  const env = { PATH: process.env.PATH ?? "", HOME: folder, TMPDIR, DO_NOT_TRACK: "1" };
  const started = startDetached([program, "--config-file", config], { env, log, mark: config });
  return { ...started, name, ports, log };
}

const loopback = (port: number): string => `http://127.0.0.1:${port}`;

/** The address of one node. */
export const nodeAddress = ({ ports }: Pick<ClusterNode, "ports">): ClusterAddress => ({
  ingress: loopback(ports.ingress),
  admin: loopback(ports.admin),
  token: null,
});

async function untilHealthy(node: ClusterNode): Promise<void> {
  for (const late = Date.now() + formsMs; !(await isHealthy(nodeAddress(node))); ) {
    if (!runs(node)) throw notStarted(`the server ${node.name} has ended`, node.log);
    if (Date.now() > late) throw notStarted(`the server ${node.name} is not healthy`, node.log);
    await Bun.sleep(50);
  }
}

/** Ends servers; their data stays. */
export const stopServers = ({ nodes }: Servers): Promise<void> => end(nodes, endsMs);

/** A cluster that the process which started it holds, as tests do. */
export type Cluster = {
  url: string;
  address: ClusterAddress;
  nodes: { pid: number; address: ClusterAddress }[];
  /** Starts a node again that has ended or was killed, with its data and its ports. */
  restart(index: number): Promise<void>;
  stop(): Promise<void>;
};

/**
 * Starts a cluster: its servers, and in front of several nodes a balancer in this process.
 *
 * @throws WorkflowError those of {@link startServers}.
 */
export async function startCluster(options: ServerOptions): Promise<Cluster> {
  const servers = await startServers(options);
  const fronts = await frontsOf(servers);
  const { address } = fronts;
  return {
    url: hostUrl(address),
    address,
    get nodes() {
      return servers.nodes.map((node) => ({ pid: node.pid, address: nodeAddress(node) }));
    },
    async restart(index) {
      const old = servers.nodes[index];
      if (!old) throw new RangeError(`there is no node ${index}`);
      await end([old], endsMs);
      const program = options.binary ?? findServer(process.cwd(), process.env);
      if (program === null) throw noServer();
      const all = servers.nodes.map(({ ports }) => ports);
      const node = startNode(program, options.folder, all, old.ports, index);
      servers.nodes[index] = node;
      await untilHealthy(node);
    },
    async stop() {
      await fronts.close();
      await stopServers(servers);
    },
  };
}

/** One address for the nodes of a cluster: that of the only node, or of a balancer in front of all. */
export async function frontsOf({ nodes }: Servers): Promise<{
  address: ClusterAddress;
  close: () => Promise<void>;
}> {
  const [only] = nodes;
  if (only && nodes.length === 1) return { address: nodeAddress(only), close: async () => {} };
  const front = (name: keyof NodePorts): Promise<Balancer> =>
    startBalancer(nodes.map(({ ports }) => ({ port: ports[name] })));
  const [ingress, admin] = await Promise.all([front("ingress"), front("admin")]);
  return {
    address: { ingress: loopback(ingress.port), admin: loopback(admin.port), token: null },
    close: async () => void (await Promise.all([ingress.close(), admin.close()])),
  };
}
