import { show } from "@uncaged/workflow/internal";
import { wholeNumber } from "../arguments/options.ts";
import { isDatabaseUrl } from "../session/cluster.ts";
import { defineCommand } from "../session/command.ts";
import { wrongUse } from "../session/errors.ts";
import { type ClusterWorkerOptions, runClusterWorker } from "../worker/cluster.ts";
import { type DatabaseWorkerOptions, runDatabaseWorker } from "../worker/database.ts";

type Options = ClusterWorkerOptions & DatabaseWorkerOptions;

/** Options that only a worker of a Restate cluster, or only a worker of a database, accepts. */
const ofCluster = {
  ...{ port: "--port", healthPort: "--health-port", listen: "--listen", advertise: "--advertise" },
  ...{ uri: "--uri", stateLimit: "--state-limit", identityKey: "--identity-key" },
} as const;
const ofDatabase = { threads: "--threads", partition: "--partition", keep: "--keep" } as const;

export default defineCommand({
  onCluster: "unused",
  declare: (command) =>
    command
      .option(
        "--port <n>",
        "the port for requests of the cluster; 0 takes any free port (default: 9080)",
        wholeNumber("--port", 0, 65_535),
      )
      .option(
        "--health-port <n>",
        "the port of GET /health and of live events (default: the next port)",
        wholeNumber("--health-port", 0, 65_535),
      )
      .option("--listen <address>", "the address to listen on (default: 127.0.0.1)")
      .option(
        "--advertise <host:port>",
        "address of the health port for other machines, to follow threads live (default: this machine)",
        hostAndPort,
      )
      .option("--uri <uri>", "address of all workers: a balancer in front of them")
      .option("--cache <dir>", "the folder for bundles")
      .option(
        "--state-limit",
        "for servers with an eager-state-size-limit, as docs/guides/deploy-cluster.md advises",
      )
      .option(
        "--identity-key <key>",
        "refuse requests that the servers have not signed with this key (repeatable)",
        list,
      )
      .option("--no-register", "leave the workers that the cluster knows unchanged")
      .option(
        "--threads <n>",
        "the most concurrent threads, on PostgreSQL (default: 100)",
        wholeNumber("--threads", 1, 100_000),
      )
      .option(
        "--partition <period>",
        "the period of a log partition, on PostgreSQL: day or month (default: month)",
      )
      .option("--keep <duration>", "delete threads that ended longer ago than this, on PostgreSQL"),
  examples: [
    "uncaged-workflow worker --host restate://127.0.0.1 --port 9080",
    "uncaged-workflow worker --host restate://restate.internal --listen 0.0.0.0 --uri http://workers.internal:9080",
    "uncaged-workflow worker --host postgres://app@db.internal/app --threads 200",
  ],
  async run(session, options: Options) {
    const chosen = session.clusterChosen;
    if (!chosen) {
      const hint = "name it: --host restate://host:port or --host postgres://user@host/database";
      throw wrongUse("worker needs a cluster or a database", hint);
    }
    const isDatabase = isDatabaseUrl(chosen.url);
    if (isDatabase && options.register === false) throw notOption("--no-register", "a database");
    for (const [key, option] of Object.entries(isDatabase ? ofCluster : ofDatabase)) {
      if (options[key as keyof Options] === undefined) continue;
      throw notOption(option, isDatabase ? "a database" : "a cluster");
    }
    if (isDatabase) await runDatabaseWorker(session, chosen.url, options);
    else await runClusterWorker(session, chosen.url, options);
  },
});

const notOption = (option: string, kind: string): Error =>
  wrongUse(`${option} is not an option of a worker of ${kind}`);

const list = (text: string, before: string[] = []): string[] => [...before, text];

/** Parses the address at which other machines reach a worker: `10.0.0.7:9081`, `[fd00::7]:9081`. */
function hostAndPort(text: string): string {
  const [, port] = /^(?:\[[0-9a-f:]+\]|[\w.-]+):(\d{1,5})$/i.exec(text) ?? [];
  if (Number(port) > 0 && Number(port) <= 65_535) return text;
  throw wrongUse(`--advertise ${show(text)} is not a host with a port`, "write 10.0.0.7:9081");
}
