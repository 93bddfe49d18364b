// @cluster: starts a server and kills workers
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { WorktreeMeta } from "@uncaged/workflow";
import { failureOf, retryOptions, settled, type ThreadRef } from "@uncaged/workflow/host";
import { until } from "../../workflow/test/fixtures/until.ts";
import { TestRepository } from "../../workflow-agents/test/worktree/repository.ts";
import type { RestateHost } from "../src/entry/index.ts";
import { TestCluster, type WorkerProcess } from "./fixtures/cluster.ts";
import { missingServer } from "./fixtures/server.ts";

/* Tests the worktrees of agents after another worker has taken over their thread. */
const writers = join(import.meta.dir, "../../workflow-agents/test/worktree/writers.ts");

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

/** Starts workers, one per machine, and replaces all others. */
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
  const { hash } = await host.store(writers);
  return await host.start({ workflow: hash, cwd: repository.folder, env: {}, prompt: "go" });
}

describe.skipIf(missingServer !== "")(`a thread with a worktree${missingServer}`, () => {
  test.each(["role 2", "commit 2"])(
    "whose worker is killed in %s continues with the files of its last step",
    async (place) => {
      const repository = newRepository();
      writeFileSync(`${repository.folder}-die`, place);
      const [first, second] = await work(machineOf(repository), machineOf(repository));
      const ref = await start(repository);
      const view = await settled(host, ref);
      expect(view.status).toBe("completed");
      // One worker was killed; the other continued the thread.
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

  test("continues on another machine whose repository has the commit, and otherwise names the missing commit", async () => {
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
