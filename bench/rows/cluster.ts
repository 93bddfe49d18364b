import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  findServer,
  registerWorker,
  startCluster,
} from "../../packages/workflow-restate/src/entry/cluster.ts";
import { openRestateHost } from "../../packages/workflow-restate/src/entry/index.ts";
import { inTurn } from "../measure.ts";
import { line, type Row } from "../row.ts";
import { bundlePath, reported } from "../store.ts";

const bareProgram = fileURLToPath(
  new URL("../../packages/workflow-restate/bench/bare.ts", import.meta.url),
);
const count = 200;
const size = 64;

/**
 * A step of a thread of 200 steps on a Restate cluster of one server with one worker. The floor is a handler that
 * makes 200 calls of `ctx.run` of the same size.
 */
export const cluster: Row = {
  name: "cluster",
  async measure({ folder, command }) {
    if (findServer(folder, process.env) === null) throw new Error("no Restate server found");
    const own = mkdtempSync(join(folder, "cluster-"));
    const servers = await startCluster({ folder: join(own, "servers") });
    const token = servers.address.token ?? "";
    const children: Bun.Subprocess[] = [];
    const host = openRestateHost(servers.address, { cache: join(own, "mirror") });
    /** Starts a program of handlers and registers it at its printed port. */
    const register = async (argv: string[], portOf: (printed: string) => number) => {
      const env = { ...process.env, UNCAGED_WORKFLOW_HOST_TOKEN: token };
      const child = Bun.spawn(argv, { env, stdin: "ignore", stdout: "pipe", stderr: "inherit" });
      children.push(child);
      const { value } = await child.stdout.getReader().read();
      const port = portOf(new TextDecoder().decode(value));
      await registerWorker(servers.address, `http://127.0.0.1:${port}`);
    };
    try {
      await register([process.execPath, bareProgram], Number);
      const flags = ["--port", "0", "--no-register", "--json", "--state-limit"];
      const cache = ["--cache", join(own, "worker")];
      await register(
        [await command(), "worker", "--host", servers.url, ...flags, ...cache],
        (printed) => {
          const { port } = JSON.parse(printed) as { port?: number };
          if (port === undefined) throw new Error(printed.trim());
          return port;
        },
      );
      const { hash } = await host.store(bundlePath);
      const report = join(own, "report.json");
      const floor = async () => {
        const response = await fetch(`${servers.address.ingress}/bare/steps`, {
          method: "POST",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body: JSON.stringify({ count, size }),
        });
        if (!response.ok) throw new Error(await response.text());
        return Number(await response.text()) / count;
      };
      const ours = async () => {
        const options = { count, size, report };
        await host.start({ workflow: hash, maxRounds: 1000, options, cwd: own, env: {} });
        const { began, ended } = await reported(report);
        return (ended - began) / count;
      };
      await inTurn(1, floor, ours);
      const texts = { what: "a committed step on a cluster", unit: "ms" };
      const samples = await inTurn(9, floor, ours);
      return [line({ ...texts, floorIs: "a bare `ctx.run`", target: { ratio: 4 } }, samples)];
    } finally {
      await host.close();
      for (const child of children) child.kill("SIGKILL");
      await Promise.all(children.map(({ exited }) => exited));
      await servers.stop();
    }
  },
};
