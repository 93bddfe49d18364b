// @cluster: it starts a server, and loses workers.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { WorktreeMeta } from "@uncaged/workflow";
import { failureOf, retryOptions, settled, type ThreadRef } from "@uncaged/workflow/host";
import { until } from "../../workflow/test/fixtures/until.ts";
import { expectCounted, untilRead } from "../../workflow-agents/test/counted.ts";
import { limitedServer } from "../../workflow-agents/test/limited/server.ts";
import { TestRepository } from "../../workflow-agents/test/worktree/repository.ts";
import type { RestateHost } from "../src/index.ts";
import { TestCluster, type WorkerProcess } from "./fixtures/cluster.ts";
import { missingServer } from "./fixtures/server.ts";

/* What agents have of their machine, worktrees and shared limits, where another worker goes on. */
const team = join(import.meta.dir, "../../workflow-agents/test");
const source = {
  writers: join(team, "worktree/writers.ts"),
  limited: join(team, "limited/limited.ts"),
};

let cluster: TestCluster;
let host: RestateHost;

beforeAll(async () => {
  if (missingServer !== "") return;
  cluster = await TestCluster.start();
  host = cluster.open();
  cluster.use([]);
});
afterEach(async () => {
  for (const { child } of cluster.workers.splice(0)) {
    child.kill("SIGKILL");
    await child.exited;
  }
});
afterAll(async () => {
  if (missingServer === "") await cluster.stop();
});

type Machine = { env: Record<string, string>; cwd?: string };

/** Has workers, a machine each, and no others. */
async function work(...machines: Machine[]): Promise<WorkerProcess[]> {
  const workers: WorkerProcess[] = [];
  for (const machine of machines) workers.push(await cluster.work({ ...machine, register: false }));
  cluster.use(workers);
  await cluster.register({ force: true });
  return workers;
}

let count = 0;
const newRepository = () => new TestRepository(join(cluster.folder, `repository-${(count += 1)}`));
const machineOf = ({ env, folder }: TestRepository): Machine => ({
  env: { ...env, PLACE: folder },
});

async function start(repository: TestRepository): Promise<ThreadRef> {
  const { hash } = await host.store(source.writers);
  return await host.start({ workflow: hash, cwd: repository.folder, env: {}, prompt: "go" });
}

describe.skipIf(missingServer !== "")(`a thread with a worktree${missingServer}`, () => {
  test.each(["role 2", "commit 2"])(
    "whose worker is killed in %s goes on with the files of its last step",
    async (place) => {
      const repository = newRepository();
      writeFileSync(`${repository.folder}-die`, place);
      const [first, second] = await work(machineOf(repository), machineOf(repository));
      const ref = await start(repository);
      const view = await settled(host, ref);
      expect(view.status).toBe("completed");
      // One of the two was killed, and the other has gone on.
      const signals = [first, second].map((worker) => String(worker?.child.signalCode ?? "none"));
      expect(signals.toSorted((a, b) => a.localeCompare(b))).toEqual(["none", "SIGKILL"]);
      const made = view.steps.map(({ meta }) => meta.worktree as WorktreeMeta);
      expect(made.map(({ base }) => base).slice(1)).toEqual(
        made.map(({ commit }) => commit).slice(0, -1),
      );
      expect(view.steps.map(({ content }) => content)).toEqual(["1\n", "1\n2\n", "1\n2\n3\n"]);
      const whole = (n: number) => repository.git("show", `${made[n - 1]?.commit}:file ${n}`);
      expect([1, 2, 3].map(whole)).toEqual(["whole 1", "whole 2", "whole 3"]);
    },
    60_000,
  );

  test("goes on on another machine when its repository has the commit, and says so when it has not", async () => {
    const repository = newRepository();
    const other = `${repository.folder}-of-another`;
    repository.git("clone", "-q", repository.folder, other);
    writeFileSync(`${repository.folder}-die`, "role 2");
    await work(machineOf(repository));
    const ref = await start(repository);
    await until(async () => (await host.read(ref)).steps.length === 1);
    await until(() => cluster.workers[0]?.child.signalCode === "SIGKILL");
    await work({ ...machineOf(repository), cwd: other });
    const failed = await settled(host, ref);
    const commit = (failed.steps[0]?.meta.worktree as WorktreeMeta | undefined)?.commit;
    const made = `commit ${commit}, which was made in ${join(repository.folder, ".git")}`;
    expect(failureOf(failed)).toMatchObject({
      code: "COMMIT_MISSING",
      message: `the repository ${join(other, ".git")} does not have the files of the last step of ${ref.threadId}: ${made}`,
    });
    repository.git("-C", other, "fetch", "-q", repository.folder, "refs/uncaged/*:refs/uncaged/*");
    const again = await host.fork(ref, retryOptions(failed, { env: {} }));
    const view = await settled(host, again);
    expect([view.status, view.steps.at(-1)?.content]).toEqual(["completed", "1\n2\n3\n"]);
  }, 60_000);
});

describe.skipIf(missingServer !== "")(`a provider's limit${missingServer}`, () => {
  test("is shared by the threads of each worker, and no thread fails when one of two is killed", async () => {
    const server = await limitedServer("claude");
    try {
      const env = { ANTHROPIC_API_KEY: server.key, ANTHROPIC_BASE_URL: server.url };
      const [first] = await work({ env }, { env });
      const { hash } = await host.store(source.limited);
      const started = Array.from({ length: 20 }, (_, n) =>
        host.start({ workflow: hash, prompt: `claude thread ${n}`, env: {}, cwd: cluster.folder }),
      );
      const threads = await Promise.all(started);
      await until(() => server.served.length >= 12);
      const release = server.hold();
      const inAnswer = () => server.came.filter(({ finished }) => !finished);
      await until(() => inAnswer().length >= 8);
      await untilRead(host, threads, [server]);
      let closed = 0;
      for (const one of inAnswer()) void one.closed.then(() => (closed += 1));
      first?.child.kill("SIGKILL");
      await first?.child.exited;
      // Which connections were those of the killed worker, if any, only the system knows: it closes them one after the other.
      const late = Date.now() + 5000;
      await until(async () => {
        const before = closed;
        await Bun.sleep(500);
        return closed === before && (before > 0 || Date.now() > late);
      });
      release();
      const ends = await Promise.all(threads.map((ref) => settled(host, ref)));
      expect(ends.filter(({ status }) => status !== "completed")).toEqual([]);
      // A call that was in flight with the killed worker is made again.
      expect(server.served.length).toBeGreaterThanOrEqual(3 * threads.length);
      // Before its first answer each of the two makes eight calls, and the server takes ten; neither knows what the other takes.
      expect(server.refused.length).toBeLessThan(server.served.length / 2);
      await expectCounted(host, threads, [server]);
      const limits = (n: number) =>
        readdirSync(join(cluster.folder, `worker-${n}`, "run")).filter((name) =>
          name.endsWith(".shared"),
        );
      expect([limits(0), limits(1)].map(({ length }) => length)).toEqual([1, 1]);
    } finally {
      await server.stop();
    }
  }, 120_000);
});
