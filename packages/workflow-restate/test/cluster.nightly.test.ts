// @cluster: it starts clusters of one and of three servers.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../../workflow/test/fixtures/until.ts";
import { missingServer } from "./fixtures/server.ts";
import { clusterState, readHostUrl, startCluster } from "../src/cluster.ts";

const folders: string[] = [];
const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "uw-cluster-"));
  folders.push(folder);
  return folder;
};
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** The processes whose command line names a folder. */
function processesOf(folder: string): string[] {
  const { stdout } = Bun.spawnSync(["ps", "-eww", "-o", "pid=,command="]);
  return stdout
    .toString()
    .split("\n")
    .filter((line) => line.includes(folder));
}

/** The addresses that processes listen on. */
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
    test("is healthy when it is started, survives the loss of a node, and leaves no process", async () => {
      const folder = newFolder();
      const cluster = await startCluster({ folder, nodes });
      try {
        expect(cluster.nodes).toHaveLength(nodes);
        const { ingress, admin } = cluster.address;
        expect(readHostUrl(cluster.url, {})).toEqual({ ingress, admin, token: null });
        const { version } = await clusterState(cluster.address);
        expect(version).toBe("1.7.12");
        const [first] = cluster.nodes;
        // Its temporary files are in its folder, and nowhere else.
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

test.if(Bun.which("ss") !== null && missingServer === "")("a server has no port", async () => {
  const cluster = await startCluster({ folder: newFolder() });
  try {
    const all = cluster.nodes.flatMap(({ pid }) => listening(pid));
    expect(all).toEqual([]);
    expect(listening(process.pid).length).toBeGreaterThan(1);
  } finally {
    await cluster.stop();
  }
});
