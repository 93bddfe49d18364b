/** Settings of one server of a local cluster. */
export type NodeConfig = {
  name: string;
  cluster: string;
  /** Names of all nodes of the cluster, including this node. */
  all: readonly string[];
  /** Whether this node creates the cluster. */
  provisions: boolean;
  /** File with the private key for signing requests to workers. */
  signingKey: string;
  /** Additional TCP port for other nodes, until they know the socket of this node. */
  fabricPort?: number;
};

/** Folder of the nodes' data, inside the cluster's folder. */
const dataFolder = "data";

/** Path of a node's Unix socket for clients, operators or other nodes. */
export const nodeSocket = (node: string, name: "ingress" | "admin" | "fabric"): string =>
  `${dataFolder}/${node}/${name}.sock`;

/**
 * Returns the configuration of a server that runs in the cluster's folder.
 *
 * - The server listens only on Unix sockets. Their paths are relative, because socket addresses have a short maximum
 *   length.
 * - A connection to a worker carries few streams, so that the balancer has connections to distribute.
 * - A call carries only the first values of a thread, including `meta`.
 * - Within seconds, the server closes a connection to a worker that does not respond.
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
