// @cluster: starts clusters of one and of three servers
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../../workflow/test/fixtures/until.ts";
import { freePorts } from "../src/cluster/process.ts";
import { missingServer } from "./fixtures/server.ts";
import { clusterState, findServer, readHostUrl, startCluster } from "../src/entry/cluster.ts";

const folders: string[] = [];
const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "uw-cluster-"));
  folders.push(folder);
  return folder;
};
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Returns the processes whose command line contains a folder. */
function processesOf(folder: string): string[] {
  const { stdout } = Bun.spawnSync(["ps", "-eww", "-o", "pid=,command="]);
  return stdout
    .toString()
    .split("\n")
    .filter((line) => line.includes(folder));
}

/** Returns the addresses on which a process listens. */
function listening(pid: number): string[] {
  const { stdout } = Bun.spawnSync(["ss", "-ltnpH"]);
  return stdout
    .toString()
    .split("\n")
    .filter((line) => line.includes(`pid=${pid},`))
    .map((line) => line.split(/\s+/)[3] ?? "");
}

describe.skipIf(missingServer !== "").each([1, 3] as const)(
  `a cluster of %d${missingServer}`,
  (nodes) => {
    test("starts healthy, survives the loss of a node, and leaves no process", async () => {
      const folder = newFolder();
      const cluster = await startCluster({ folder, nodes });
      try {
        expect(cluster.nodes).toHaveLength(nodes);
        const { ingress, admin } = cluster.address;
        expect(readHostUrl(cluster.url, {})).toEqual({ ingress, admin, token: null });
        const { version } = await clusterState(cluster.address);
        expect(version).toBe("1.7.12");
        const [first] = cluster.nodes;
        // The server has temporary files only in its own folder.
        await until(() => readdirSync(join(folder, "tmp", "node-1")).length > 0);
        process.kill(first?.pid ?? 0, "SIGKILL");
        await until(() => !processesOf(`${folder}/node-1.toml`).some(isAlive));
        if (nodes > 1) await until(() => clusterState(cluster.address).then(isKnown, () => false));
        await cluster.restart(0);
        expect((await clusterState(cluster.address)).version).toBe(version);
      } finally {
        await cluster.stop();
      }
      expect(processesOf(folder)).toEqual([]);
      expect(readdirSync(join(folder, "data"))).toHaveLength(nodes);
    });
  },
);

const isAlive = (line: string): boolean => !line.includes("<defunct>");
const isKnown = ({ version }: { version: string }): boolean => version !== "";

test.skipIf(missingServer !== "")(
  "three servers of an earlier version switch from ports to sockets",
  async () => {
    const folder = newFolder();
    const ports = await freePorts(9);
    const nodes = ["node-1", "node-2", "node-3"].map((name, index) => {
      const [ingress = 0, admin = 0, fabric = 0] = ports.slice(index * 3);
      return { name, ingress, admin, fabric };
    });
    const servers = nodes.map(({ name, ...own }, index) => {
      const config = join(folder, `old-${name}.toml`);
      const address = (port: number) =>
        `bind-address = "127.0.0.1:${port}"\nadvertised-address = "http://127.0.0.1:${port}/"`;
      const fabric = nodes.map((node) => `"http://127.0.0.1:${node.fabric}/"`);
      const lines = [
        'cluster-name = "uncaged-workflow"',
        `node-name = "${name}"`,
        `base-dir = "${join(folder, "data")}"`,
        `auto-provision = ${index === 0}`,
        'listen-mode = "tcp"',
        address(own.fabric),
        "default-replication = 2\ndefault-num-partitions = 8",
        "disable-telemetry = true",
        `[metadata-client]\naddresses = [${fabric.join(", ")}]`,
        `[admin]\n${address(own.admin)}`,
        `[ingress]\n${address(own.ingress)}`,
      ];
      writeFileSync(config, lines.join("\n"));
      const program = findServer(folder, process.env) ?? "";
      return Bun.spawn([program, "--config-file", config], {
        env: { DO_NOT_TRACK: "1" },
        stdio: ["ignore", "ignore", "ignore"],
      });
    });
    const isHealthy = ({ admin, ingress }: { admin: number; ingress: number }) =>
      Promise.all([
        fetch(`http://127.0.0.1:${admin}/health`),
        fetch(`http://127.0.0.1:${ingress}/restate/health`),
      ]).then(
        (answers) => answers.every(({ ok }) => ok),
        () => false,
      );
    for (const node of nodes) await until(() => isHealthy(node));
    for (const server of servers) server.kill("SIGTERM");
    await Promise.all(servers.map(({ exited }) => exited));
    writeFileSync(join(folder, "ports.json"), JSON.stringify(nodes));
    const cluster = await startCluster({ folder, nodes: 3 });
    try {
      await until(() => clusterState(cluster.address).then(isKnown, () => false));
      expect(cluster.nodes.flatMap(({ pid }) => listening(pid))).toEqual([]);
    } finally {
      await cluster.stop();
    }
  },
);

test.if(Bun.which("ss") !== null && missingServer === "")(
  "a server listens on no TCP port",
  async () => {
    const cluster = await startCluster({ folder: newFolder() });
    try {
      const all = cluster.nodes.flatMap(({ pid }) => listening(pid));
      expect(all).toEqual([]);
      expect(listening(process.pid).length).toBeGreaterThan(1);
    } finally {
      await cluster.stop();
    }
  },
);
