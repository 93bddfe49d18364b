// @cluster: starts a server and kills workers
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { settled, type ThreadRef, type ThreadView } from "@uncaged/workflow/host";
import { until } from "../../workflow/test/fixtures/until.ts";
import type { RestateHost } from "../src/entry/index.ts";
import { TestCluster, type WorkerProcess } from "./fixtures/cluster.ts";
import { missingServer } from "./fixtures/server.ts";

/** A bundle that writes each step and its process to a file before it yields the step. */
const noting = `
import { appendFileSync } from "node:fs";
export const descriptor = { description: "notes what it does", roles: {} };
export async function* run(input, options) {
  for (let n = input.steps.length; n < options.count; n += 1) {
    appendFileSync(options.notes, n + " " + process.pid + "\\n");
    await new Promise((resolve) => setTimeout(resolve, options.ms));
    yield { role: "count", content: String(n), meta: {} };
  }
  return { returnCode: 0, summary: "done" };
}`;

let cluster: TestCluster;
let host: RestateHost;
let notes: string;

beforeAll(async () => {
  if (missingServer !== "") return;
  cluster = await TestCluster.balanced(2);
  host = cluster.open();
  notes = join(cluster.folder, "notes");
});
afterAll(async () => {
  if (missingServer === "") await cluster.stop();
});

const noted = (): { n: number; pid: number }[] =>
  existsSync(notes)
    ? readFileSync(notes, "utf8")
        .trim()
        .split("\n")
        .map((line) => line.split(" ").map(Number) as [number, number])
        .map(([n, pid]) => ({ n, pid }))
    : [];

async function start(count: number, ms: number): Promise<ThreadRef> {
  notes = join(cluster.folder, `notes-${Math.random()}`);
  const workflow = await cluster.put(host, noting);
  const options = { count, ms, notes };
  return await host.start({ workflow, cwd: "/", env: {}, options });
}

/** Waits for at most a minute until a thread rests. Returns the thread's view. */
const rested = (ref: ThreadRef): Promise<ThreadView> =>
  settled(host, ref, { signal: AbortSignal.timeout(60_000) });

const driverOf = async (ref: ThreadRef): Promise<WorkerProcess> => {
  const live = (await host.live()).find(({ threadId }) => threadId === ref.threadId);
  const worker = cluster.workers.find(({ child }) => child.pid === live?.pid);
  if (!worker) throw new Error("no worker drives the thread");
  return worker;
};

describe.skipIf(missingServer !== "")(`a thread${missingServer}`, () => {
  test("continues on another worker when its worker freezes, and refuses appends of the thawed worker", async () => {
    const ref = await start(20, 100);
    await until(() => noted().length > 5);
    const { child } = await driverOf(ref);
    child.kill("SIGSTOP");
    await until(() => noted().some(({ pid }) => pid !== child.pid));
    child.kill("SIGCONT");
    const view = await rested(ref);
    expect(view.status).toBe("completed");
    expect(view.steps.map(({ content }) => Number(content))).toEqual([...Array(20).keys()]);
    expect(noted().length).toBeLessThanOrEqual(22);
  });

  test("is interrupted when all workers are lost, and continues when a worker starts", async () => {
    const ref = await start(20, 100);
    await until(() => noted().length > 2);
    for (const { child } of cluster.workers) child.kill("SIGKILL");
    await until(async () => (await host.row(ref))?.status === "interrupted");
    expect(await host.live()).toEqual([]);
    cluster.use([await cluster.work({ register: false })]);
    const isThrough = async () => (await host.row(ref))?.status === "completed";
    await until(isThrough);
    expect((await host.read(ref)).steps).toHaveLength(20);
  });
});
