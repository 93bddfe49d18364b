/** Settings of one server of a local cluster. */
export type NodeConfig = {
  name: string;
  cluster: string;
  /** The names of all nodes of the cluster, its own included. */
  all: readonly string[];
  /** Whether this node creates the cluster. */
  provisions: boolean;
  /** The file of the private key with which it signs its requests to workers. */
  signingKey: string;
  /** The port on which it listens for the other nodes too, which know it by that until it has told them its socket. */
  fabricPort?: number;
};

/** The folder of the nodes' data, in that of the cluster. */
const dataFolder = "data";

/** The Unix sockets of a node: for callers, for operators, for the other nodes. */
export const nodeSocket = (node: string, name: "ingress" | "admin" | "fabric"): string =>
  `${dataFolder}/${node}/${name}.sock`;

/**
 * The configuration file of a server that runs in the cluster's folder. It listens on Unix sockets alone, whose paths are
 * relative: the address of a socket is short. Of a connection to a worker few streams make
 * use, so that a balancer has connections to distribute; of a thread's values the first come with a call, `meta` among them; a worker that no longer answers is given up within seconds.
 */
export function nodeConfig(config: NodeConfig): string {
  const { name, cluster, all, provisions, signingKey, fabricPort } = config;
  const replication = all.length > 1 ? 2 : 1;
  const fabric = (node: string) => text(`unix:${nodeSocket(node, "fabric")}`);
  return lines([
    `cluster-name = ${text(cluster)}`,
    `node-name = ${text(name)}`,
    `base-dir = ${text(dataFolder)}`,
    `auto-provision = ${provisions}`,
    ...(fabricPort === undefined
      ? ['listen-mode = "unix"']
      : ['listen-mode = "all"', `bind-address = "127.0.0.1:${fabricPort}"`]),
    `advertised-address = ${fabric(name)}`,
    `default-replication = ${replication}`,
    "default-num-partitions = 8",
    'rocksdb-total-memory-size = "256 MiB"',
    'log-filter = "warn,restate=info"',
    "log-disable-ansi-codes = true",
    "disable-telemetry = true",
    'shutdown-timeout = "5s"',
    "[metadata-client]",
    `addresses = [${all.map(fabric).join(", ")}]`,
    '[admin]\nlisten-mode = "unix"',
    '[ingress]\nlisten-mode = "unix"',
    "[worker.invoker]",
    `request-identity-private-key-pem-file = ${text(signingKey)}`,
    "http2-streams-per-connection-limit = 8",
    'eager-state-size-limit = "8.0 KiB"',
    'http2-keep-alive-interval = "3s"',
    'http2-keep-alive-timeout = "3s"',
    'connect-timeout = "2s"',
  ]);
}

const text = (value: string): string => JSON.stringify(value);
const lines = (all: string[]): string => `${all.join("\n")}\n`;
