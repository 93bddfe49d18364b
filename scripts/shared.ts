import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeTestedCommand } from "./build.ts";

/* Creates and removes the shared environment of a run's test files. */
export type Environment = Record<string, string | undefined>;

/** Resources that a stage's test files share besides the built command. */
export type Shared = "cluster" | "postgres" | "browser";

/**
 * Folder with the home and all temporary files of a run. Its path is short, because the length of socket paths below it
 * is limited.
 */
const folder = mkdtempSync(join(tmpdir(), "gate-"));
// Some tests run a process as another user, which needs access to its folder inside this folder.
chmodSync(folder, 0o711);
const home = join(folder, "home");
mkdirSync(home);
process.env.TMPDIR = folder;
process.once("exit", () => {
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

const closers: (() => Promise<void>)[] = [];
const started = new Map<string, Promise<Environment>>();

const starts: Record<Shared | "command", () => Promise<Environment>> = {
  async command() {
    const { buildConsole } = await import("../apps/web/test/built.ts");
    await buildConsole();
    const built = await makeTestedCommand();
    closers.push(() => rm(built, { recursive: true, force: true }));
    return { TEST_COMMAND: built };
  },
  async cluster() {
    const { startCluster } = await import("../packages/workflow-restate/src/entry/cluster.ts");
    const cluster = await startCluster({ folder: join(folder, "servers") });
    closers.push(() => cluster.stop());
    const { url, address, identityKey } = cluster;
    return {
      TEST_CLUSTER: url,
      TEST_CLUSTER_TOKEN: address.token ?? undefined,
      TEST_CLUSTER_KEY: identityKey,
    };
  },
  async postgres() {
    const { PostgresServer } = await import(
      "../packages/workflow-postgres/test/fixtures/server.ts"
    );
    // The server's machine does not fail, so its writes need not reach the disk.
    const server = await PostgresServer.start({ settings: { fsync: "off" } });
    closers.push(() => server.remove());
    return { TEST_POSTGRES: server.url() };
  },
  async browser() {
    const { launchServer } = await import("../apps/web/test/launch.ts");
    const browser = await launchServer();
    closers.push(() => browser.close());
    return { TEST_BROWSER: browser.wsEndpoint() };
  },
};

/** Returns the environment of `bun test`. Starts a shared resource when a stage first needs it. */
export async function testEnvironment(
  cases: "some" | "all",
  shared: readonly Shared[],
): Promise<Environment> {
  const needed = ["command", ...shared] as const;
  const all = needed.map((name) => {
    const known = started.get(name) ?? starts[name]();
    started.set(name, known);
    return known;
  });
  // `CI` prevents `bun test` from writing snapshots. No script or test reads it.
  const own = { ...plainEnvironment(), CI: "1", TEST_CASES: cases };
  return Object.assign(own, ...(await Promise.all(all))) as Environment;
}

/** Returns an environment for tools without colour, regardless of the caller's terminal or `CI`. */
export const plainEnvironment = (): Environment => ({
  ...process.env,
  NO_COLOR: "1",
  CI: undefined,
  HOME: home,
});

/** Returns the processes of the run: their command line or environment contains the run's folder. Linux only. */
function processesOfRun(): number[] {
  const read = (pid: string, file: string): string => {
    try {
      return readFileSync(`/proc/${pid}/${file}`, "latin1");
    } catch {
      return "";
    }
  };
  return (process.platform === "linux" ? readdirSync("/proc") : [])
    .filter((name) => /^\d+$/.test(name) && name !== String(process.pid))
    .filter((pid) => `${read(pid, "cmdline")}${read(pid, "environ")}`.includes(folder))
    .map(Number);
}

/** Ends all processes that the run has started. */
export async function endShared(): Promise<void> {
  await Promise.allSettled(started.values());
  await Promise.allSettled(closers.map((close) => close()));
  for (let left = processesOfRun(); left.length > 0; left = processesOfRun()) {
    for (const pid of left) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // The process has already ended.
      }
    }
    await Bun.sleep(50);
  }
}
