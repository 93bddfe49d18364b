import { Option } from "commander";
import { wholeNumber } from "../arguments/options.ts";
import { exitCodes } from "../output/exit-code.ts";
import { count } from "../output/text.ts";
import { defineCommand, defineSubcommand } from "../session/command.ts";
import { ownProgram } from "../session/own-command.ts";
import { clusterFolderOf, type Session } from "../session/session.ts";

const load = () => import("@uncaged/workflow-restate/cluster");

type UpOptions = { nodes: string; workers: number; install?: boolean };

const up = defineSubcommand({
  summary: "start a cluster on this machine: servers and workers, on loopback",
  declare: (command) =>
    command
      .addOption(new Option("--nodes <n>", "number of servers").choices(["1", "3"]).default("1"))
      .option("--workers <n>", "number of workers", wholeNumber("--workers", 0, 64), 1)
      .option("--install", "install the Restate server (BSL 1.1) into the cache if it is missing"),
  examples: [
    "uncaged-workflow cluster up --install",
    "uncaged-workflow cluster up --nodes 3 --workers 3 --json",
  ],
  async run(session, { nodes, workers, install }: UpOptions) {
    const { findServer, installServer, missingServer, upCluster } = await load();
    const { env, cwd } = session;
    const found = findServer(cwd, env);
    if (!found && install) session.note("installing the Restate server: its licence is BSL 1.1");
    const binary = found ?? (install ? await installServer(env) : null);
    if (binary === null) throw missingServer();
    const cluster = await upCluster({
      ...{ folder: folderOf(session), nodes: nodes === "3" ? 3 : 1, workers, binary, env },
      program: ownProgram().argv,
    });
    const { host, uri, balancer } = cluster;
    const pidOf = ({ pid }: { pid: number }) => pid;
    const pids = {
      servers: cluster.nodes.map(pidOf),
      workers: cluster.workers.map(pidOf),
      balancer: balancer && pidOf(balancer),
    };
    session.show({ host, uri, pids }, () => `${host}\n`);
    session.note(`use it: --host '${host}', or export UNCAGED_WORKFLOW_HOST='${host}'`);
    session.note("end it: uncaged-workflow cluster down");
  },
});

const down = defineSubcommand({
  summary: "stop the cluster of this machine, and keep its data",
  declare: (command) => command.option("--data", "also delete its data, permanently"),
  examples: ["uncaged-workflow cluster down", "uncaged-workflow cluster down --data"],
  async run(session, { data = false }: { data?: boolean }) {
    const { downCluster } = await load();
    const stopped = await downCluster(folderOf(session), { data, env: session.env });
    session.show({ stopped }, () => (stopped ? "stopped\n" : ""));
    if (!stopped) session.note("no cluster runs");
  },
});

const status = defineSubcommand({
  summary: "show the running parts of the cluster of this machine",
  examples: ["uncaged-workflow cluster status --json"],
  async run(session) {
    const { clusterStatus } = await load();
    const found = await clusterStatus(folderOf(session));
    if (!found) {
      session.show({ host: null }, () => "");
      session.note("no cluster runs; start one: uncaged-workflow cluster up");
      return exitCodes.missing;
    }
    session.show(found, () => {
      const rows = [
        ...found.servers.map(
          ({ name, pid, healthy }) => `${name}  ${pid}  ${healthy ? "healthy" : "not healthy"}`,
        ),
        ...found.workers.map(
          ({ pid, port, running }) => `worker  ${pid}  ${running ? `port ${port}` : "not running"}`,
        ),
      ];
      return `${found.host}\n${rows.map((row) => `  ${row}\n`).join("")}`;
    });
    const lost = found.workers.filter(({ running }) => !running).length;
    if (lost > 0) session.note(`${count(lost, "worker")} of ${found.workers.length} not running`);
    return found.healthy ? exitCodes.done : exitCodes.failed;
  },
});

/** The workers' load balancer. */
const balancer = defineSubcommand({
  summary: "forward the connections to a cluster of this machine",
  declare: (command) => command.argument("<folder>"),
  examples: [],
  async run(session, _options: object, folder: string) {
    const { balance } = await load();
    await balance(folder, session.termination());
  },
});

const folderOf = (session: Session): string => clusterFolderOf(session.openRoot());

export default defineCommand({
  onCluster: "unused",
  examples: [
    "uncaged-workflow cluster up --workers 2",
    "uncaged-workflow cluster status",
    "uncaged-workflow cluster down",
  ],
  commands: { up, down, status, __balance: balancer },
});
