import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { removeFolders, Store } from "../../cli-workflow/test/program.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { isAlive, processesIn } from "./processes.ts";

/* Tests that the child processes of a killed worker end with the worker, or at the latest before a step runs again. */
const source = join(import.meta.dir, "bundles/starting.ts");
type View = { status: string; pid: number | null; steps: { content: string }[] };

const store = new Store();
const names: string[] = [];
beforeAll(async () => void (await store.ok(["add", "starting", source])), 180_000);
afterEach(() => {
  for (const pid of names.splice(0).flatMap(runningIn)) process.kill(pid, "SIGKILL");
});
afterAll(removeFolders);

const runningIn = (name: string): number[] => processesIn(join(store.folder, `${name}.d`));

/** Starts a thread that starts two processes in each way. Waits until the processes run. */
async function start(ways: string[], { end = false, more = [] as string[] } = {}) {
  const name = `started-${names.length}-${Math.random()}`;
  names.push(name);
  const params = JSON.stringify({ ways, name, end });
  const id = await store.ok(["run", "starting", "--params", params, ...more]);
  await until(() => runningIn(name).length === 2 * ways.length);
  return { id, name };
}

/** Returns the process id of the last worker of a thread's bundle. */
async function lastWorker(id: string): Promise<number> {
  const { hash } = await store.json<{ hash: string }>(["thread", id]);
  const [first = ""] = readFileSync(join(store.root, "run", `${hash}.holder`), "utf8").split("\n");
  return (JSON.parse(first) as { pid: number }).pid;
}

async function killWorker(id: string): Promise<void> {
  let pid: number | null = null;
  await until(async () => (pid = (await store.json<View>(["thread", id])).pid) !== null);
  process.kill(Number(pid), "SIGKILL");
  await until(() => !isAlive(Number(pid)));
}

test("the commands of twenty tools, and their children, end with the worker", async () => {
  const twenty = await Promise.all(Array.from({ length: 20 }, () => start(["tool"])));
  expect(twenty.flatMap(({ name }) => runningIn(name))).toHaveLength(40);
  await killWorker(twenty[0]?.id ?? "");
  await until(() => twenty.every(({ name }) => runningIn(name).length === 0));
}, 180_000);

describe.if(process.platform === "linux")("on Linux", () => {
  test("a resume ends the child processes of a killed worker before it runs a step, and reports them", async () => {
    const { id, name } = await start(["tool", "deaf", "session", "node", "bun", "given"]);
    await killWorker(id);
    const { code, stderr } = await store.run(["resume", id, "--wait"]);
    expect(code).toBe(0);
    const { steps } = await store.json<View>(["thread", id]);
    expect(steps.map(({ content }) => content)).toEqual(["[]"]);
    expect(runningIn(name)).toEqual([]);
    const report = /ended processes that a killed worker left running: .*\d+ sleep 1000/;
    expect(stderr).toMatch(report);
    expect((await store.run(["follow", id])).stdout).toMatch(report);
    expect(await store.ok(["logs", id])).toMatch(
      /worker_start .*"orphans":\[\{"pid":\d+,"command":"/,
    );
  }, 180_000);

  test("processes without the worker's mark, and processes of a worker that exited normally, keep running", async () => {
    const { id, name } = await start(["free"]);
    await killWorker(id);
    expect(await store.json(["kill", id])).toEqual({ threadId: id, resumed: [] });
    expect(runningIn(name)).toHaveLength(2);

    const ended = await start(["daemon"], { end: true, more: ["--wait"] });
    const worker = await lastWorker(ended.id);
    await until(() => !isAlive(worker));
    const after = await start(["node"], { end: true, more: ["--wait"] });
    expect(runningIn(ended.name)).toHaveLength(2);
    expect(runningIn(after.name)).toHaveLength(2);
  }, 180_000);
});
