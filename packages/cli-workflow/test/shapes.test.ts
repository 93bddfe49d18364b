import { afterAll, beforeAll, expect, test } from "bun:test";
import { playStore, removeFolders, type Store } from "./program.ts";

afterAll(removeFolders);

type Shape = Record<string, unknown>;

let store: Store;
let id: string;

beforeAll(async () => {
  store = await playStore({ inMemory: true });
  id = await store.play();
  await store.until(id, "completed");
});

const keysOf = (value: unknown): string[] => Object.keys(value as Shape).sort();
const sorted = (keys: string): string[] => keys.split(" ").sort();

const threadKeys =
  "threadId workflow hash status prompt params maxRounds createdAt workedMs waitedMs steps result forkFrom pid";

test("run prints threadId, workflow and hash", async () => {
  const started = await store.json<Shape>(["run", "play"]);
  expect(keysOf(started)).toEqual(sorted("threadId workflow hash"));
});

test("run --wait adds status, result and question", async () => {
  const ended = await store.json<Shape>(["run", "play", "--wait"]);
  expect(keysOf(ended)).toEqual(sorted("threadId workflow hash status result question"));
  expect(ended).toMatchObject({
    workflow: "play",
    status: "completed",
    result: { returnCode: 0, summary: "played" },
  });
});

test("thread prints the whole thread", async () => {
  const view = await store.json<Shape & { steps: Shape[] }>(["thread", id]);
  expect(keysOf(view)).toEqual(sorted(threadKeys));
  expect(view).toMatchObject({ status: "completed", maxRounds: 100, forkFrom: null, pid: null });
  expect(keysOf(view.result)).toEqual(sorted("returnCode summary"));
  expect(view.steps.map(keysOf)).toEqual(
    Array(3).fill(sorted("role content meta timestamp attempt")),
  );
});

test("thread --attempts prints the work of each step", async () => {
  const { attempts } = await store.json<{ attempts: Shape[] }>(["thread", id, "--attempts"]);
  expect(attempts.map(keysOf)).toEqual(
    Array(3).fill(
      sorted(
        "attempt role path step status startedAt endedAt turns usage cost models retries error",
      ),
    ),
  );
  expect(attempts.map(({ step, status }) => [step, status])).toEqual([
    [1, "committed"],
    [2, "committed"],
    [3, "committed"],
  ]);
});

test("threads prints rows, newest first, with the number of steps", async () => {
  const newer = await store.play();
  await store.until(newer, "completed");
  const rows = await store.json<Shape[]>(["threads"]);
  expect(keysOf(rows[0])).toEqual(
    sorted(
      "threadId workflow hash status steps createdAt updatedAt workedMs waitedMs subject at spent hasError",
    ),
  );
  expect(await store.json<Shape[]>(["threads", "--since", "1h", "--min-cost", "5"])).toEqual([]);
  expect(rows[0]).toMatchObject({ threadId: newer, steps: 3, status: "completed" });
  const ids = rows.map(({ threadId }) => String(threadId));
  expect(ids).toEqual(ids.toSorted((a, b) => (a < b ? 1 : -1)));
});

test("ps prints the running threads with their process", async () => {
  const running = await store.play({ ms: 60_000 });
  const rows = await store.json<Shape[]>(["ps"]);
  const row = rows.find(({ threadId }) => threadId === running);
  expect(keysOf(row)).toEqual(
    sorted("threadId workflow hash status pid steps role elapsedMs workedMs waitedMs"),
  );
  expect(row).toMatchObject({ status: "running", steps: 0, role: null });
  const killed = await store.json<Shape>(["kill", running]);
  expect(killed.threadId).toBe(running);
});

test("list, show and history print the workflow", async () => {
  const rows = await store.json<Shape[]>(["list"]);
  expect(rows.map(keysOf)).toEqual([sorted("name hash timestamp description versions")]);
  const view = await store.json<Shape>(["show", "play"]);
  expect(keysOf(view)).toEqual(sorted("name hash timestamp history descriptor"));
  expect(keysOf(view.descriptor)).toEqual(["description", "roles"]);
  const versions = await store.json<Shape[]>(["history", "play"]);
  expect(versions.map(keysOf)).toEqual([
    sorted(
      "hash sha256 timestamp current threads completed failed p50Ms p95Ms cost tokens newestFailure days roles models",
    ),
  ]);
  expect(versions[0]).toMatchObject({ cost: 0, newestFailure: null });
  expect(await store.ok(["history", "play"])).toMatch(/THREADS +COMPLETED +FAILED +P50 +P95 +COST/);
});

test("fork and retry name their source", async () => {
  const forked = await store.json<Shape>(["fork", id]);
  expect(keysOf(forked)).toEqual(sorted("threadId workflow hash forkFrom"));
  expect(forked.forkFrom).toEqual({ threadId: id, steps: 2 });
  const failed = await store.play({ fail: 2 });
  await store.until(failed, "failed");
  const retried = await store.json<Shape>(["retry", failed]);
  expect(keysOf(retried)).toEqual(sorted("threadId workflow hash forkFrom"));
  expect(retried.forkFrom).toEqual({ threadId: failed, steps: 1 });
});

test("a command prints an object for one id, and for several ids an array that includes failures", async () => {
  const [a, b] = [await store.play({ ms: 60_000 }), await store.play({ ms: 60_000 })];
  const { code, stdout } = await store.run(["kill", a, "01ZZZZZZ", b, "--json"]);
  expect(code).toBe(4);
  const [first, second, third] = JSON.parse(stdout) as [Shape, Shape, Shape];
  expect([first.threadId, third.threadId]).toEqual([a, b]);
  expect(second).toMatchObject({ id: "01ZZZZZZ", error: { code: "THREAD_NOT_FOUND" } });
});

test("follow and logs print one object per line", async () => {
  const items = (await store.ok(["follow", id, "--json"])).split("\n");
  const kinds = items.map((line) => (JSON.parse(line) as Shape).kind);
  expect(kinds.filter((kind) => kind === "step")).toHaveLength(3);
  expect(kinds.at(-1)).toBe("end");
  const records = (await store.ok(["logs", id, "--json"])).split("\n");
  for (const line of records) {
    expect(keysOf(JSON.parse(line))).toEqual(
      expect.arrayContaining(sorted("tag content timestamp")),
    );
  }
});

test("an error is an envelope on stdout, and stderr is empty", async () => {
  const { code, stdout, stderr } = await store.run(["thread", "01ZZZZZZ", "--json"]);
  expect(code).toBe(4);
  expect(stderr).toBe("");
  const { error } = JSON.parse(stdout) as { error: Shape };
  expect(keysOf(error)).toEqual(sorted("code message hint"));
  expect(error.code).toBe("THREAD_NOT_FOUND");
});

test("every other command prints one JSON document", async () => {
  const commands = [
    ["rollback", "play", (await store.json<[Shape]>(["list"]))[0].hash as string],
    ["diff", id, id],
    ["gc", "--dry-run"],
    ["completion", "bash"],
    ["version"],
    ["--version"],
    ["thread", id, "--steps"],
  ];
  for (const args of commands) expect(await store.json<unknown>(args)).toBeObject();
});
