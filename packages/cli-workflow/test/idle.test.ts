import { afterAll, beforeAll, test } from "bun:test";
import { ServingProcess, stopServing } from "../../server/test/serving.ts";
import { playStore, removeFolders, type Store, untilNoWorker } from "./program.ts";

afterAll(async () => {
  await stopServing();
  removeFolders();
});

/*
 * A worker with an idle timeout of 0 exits as soon as it has nothing to run. Each start below finds no worker, so
 * the command must start a worker and reach it before the worker exits.
 */
const env = { UNCAGED_WORKFLOW_IDLE_MS: "0" };
let store: Store;

beforeAll(async () => {
  store = await playStore();
});

type Started = { threadId: string; status?: string };

async function start(json: boolean, ...args: string[]): Promise<string> {
  await untilNoWorker(store.root);
  const printed = await store.ok(json ? [...args, "--json"] : args, { env });
  return json ? (JSON.parse(printed) as Started).threadId : (printed.split("\n")[0] as string);
}

for (const json of [false, true]) {
  const how = json ? "with --json" : "without --json";

  test(`run, fork and resume ${how} reach a worker that exits at once when idle`, async () => {
    const first = await start(json, "run", "play", "--wait");
    const forked = await start(json, "fork", first, "--at-step", "1", "--wait");
    const asking = await start(json, "run", "play", "--params", '{"ask":2}');
    await store.until(asking, "waiting");
    await untilNoWorker(store.root);
    await store.ok(["resume", asking, "--input", "yes", ...(json ? ["--json"] : [])], { env });
    for (const id of [first, forked, asking]) await store.until(id, "completed");
  });
}

test("a start through the server reaches a worker that exits at once when idle", async () => {
  const serving = await ServingProcess.startWith(env, "counter");
  const id = await serving.run("counter");
  await serving.until(id, "completed");
});
