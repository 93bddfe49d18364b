/** What one server of a cluster on this machine is given. */
export type NodeConfig = {
  name: string;
  cluster: string;
  /** The folder of its data. */
  folder: string;
  ports: NodePorts;
  /** The ports on which the nodes of the cluster reach each other, its own included. */
  fabric: readonly number[];
  /** Whether this node creates the cluster. */
  provisions: boolean;
};

/** The ports of a node: for callers, for operators, for the other nodes. */
export type NodePorts = { ingress: number; admin: number; fabric: number };

const loopback = (port: number): string => `127.0.0.1:${port}`;

/**
 * The configuration file of a server. Every port is bound on loopback. Of a connection to a worker few streams make
 * use, so that a balancer has connections to distribute; of a thread's values the first come with a call, `meta` among them; a worker that no longer answers is given up within seconds.
 */
export function nodeConfig(config: NodeConfig): string {
  const { name, cluster, folder, ports, fabric, provisions } = config;
  const replication = fabric.length > 1 ? 2 : 1;
  const service = (port: number) => [
    `bind-address = ${text(loopback(port))}`,
    `advertised-address = ${text(`http://${loopback(port)}/`)}`,
  ];
  return lines([
    `cluster-name = ${text(cluster)}`,
    `node-name = ${text(name)}`,
    `base-dir = ${text(folder)}`,
    `auto-provision = ${provisions}`,
    'listen-mode = "tcp"',
    ...service(ports.fabric),
    `default-replication = ${replication}`,
    "default-num-partitions = 8",
    'rocksdb-total-memory-size = "256 MiB"',
    'log-filter = "warn,restate=info"',
    "log-disable-ansi-codes = true",
    "disable-telemetry = true",
    'shutdown-timeout = "5s"',
    "[metadata-client]",
    `addresses = [${fabric.map((port) => text(`http://${loopback(port)}/`)).join(", ")}]`,
    "[admin]",
    ...service(ports.admin),
    "[ingress]",
    ...service(ports.ingress),
    "[worker.invoker]",
    "http2-streams-per-connection-limit = 8",
    'eager-state-size-limit = "8.0 KiB"',
    'http2-keep-alive-interval = "3s"',
    'http2-keep-alive-timeout = "3s"',
    'connect-timeout = "2s"',
  ]);
}

const text = (value: string): string => JSON.stringify(value);
const lines = (all: string[]): string => `${all.join("\n")}\n`;
