import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { ServingRoot, stopServing } from "../../server/test/serving.ts";
import { playBundle, removeFolders, Store } from "./program.ts";

/* The command line on a server (`serve`) instead of a storage root. */
const store = new Store();
const serving = new ServingRoot();
let env: Record<string, string>;

beforeAll(async () => {
  await serving.begin();
  const url = `http://127.0.0.1:${serving.port}`;
  env = { UNCAGED_WORKFLOW_HOST: url, UNCAGED_WORKFLOW_TOKEN: serving.token };
});
afterAll(async () => {
  await stopServing();
  removeFolders();
});

const ok = (...args: string[]): Promise<string> => store.ok(args, { env });
const json = <T>(...args: string[]): Promise<T> => store.json<T>(args, { env });

type Thread = { threadId: string; status: string; steps: { role: string; content: string }[] };

test("workflows are added, listed, rolled back and removed", async () => {
  const first = await ok("add", "play", playBundle);
  await Bun.write(
    join(store.folder, "play.ts"),
    `export const descriptor = { description: "second", roles: {} };
     export async function* run() { yield { role: "a", content: "built", meta: {} }; return { returnCode: 0, summary: "" }; }`,
  );
  const second = await ok("add", "play", "play.ts");
  expect(second).not.toBe(first);
  expect((await serving.host.workflow("play")).hash).toBe(second);
  const rows = await json<{ hash: string; current: boolean }[]>("history", "play");
  expect(rows.map(({ hash, current }) => [hash, current])).toEqual([
    [second, true],
    [first, false],
  ]);
  const id = await ok("run", "./play.ts");
  await ok("follow", id);
  expect((await json<Thread>("thread", id)).steps).toMatchObject([{ content: "built" }]);
  expect(await ok("rollback", "play")).toContain(first);
  expect(await json("list")).toMatchObject([{ name: "play", hash: first, versions: 2 }]);
  expect(await json("show", "play")).toMatchObject({ hash: first });
  expect(await json("verify")).toMatchObject({ problems: [] });
  expect(await json("gc", "--dry-run")).toMatchObject({ problems: [] });
  expect((await store.run(["list"], {})).stdout).toBe("");
});

test("threads are run, followed, answered, forked, compared and removed", async () => {
  await ok("add", "other", playBundle);
  const id = await ok("run", "other", "--prompt", "go");
  await ok("follow", id);
  const thread = await json<Thread>("thread", id);
  expect(thread).toMatchObject({ threadId: id, status: "completed" });
  expect(await serving.ok(`/api/threads/${id}`)).toMatchObject({ prompt: "go" });
  expect(await ok("logs", id)).toContain("worker_start");
  const fork = await ok("fork", id, "--at-step", "1");
  await ok("follow", fork);
  expect(await json("diff", id, fork)).toMatchObject({ same: true });
  expect((await json<{ threadId: string }[]>("threads", "--workflow", "other")).length).toBe(2);
  expect(await json("ps")).toEqual([]);
  await ok("thread", "rm", fork);
  await ok("thread", "restore", fork);
  expect(await json("thread", fork)).toMatchObject({ status: "completed" });
  expect(await json("wake")).toMatchObject({ woken: [] });
});

describe("a refused command prints one line and exits with code 2", () => {
  test.each([
    [["serve", "--port", "0"], "serve does not work on a server"],
    [["dev", "play.ts"], "dev does not work on a server"],
    [["doctor"], "doctor does not work on a server"],
    [["plan", "list"], "plan list does not work on a server"],
    [["push", "@last"], "write restate://host:port or postgres://user@host/name\n"],
    [["worker"], "is not the URL of a cluster or database"],
    [["list", "--host", "mysql://x"], "write restate://host:port or postgres://user@host/name, or"],
    [["list", "--host", ""], "write restate://host:port or postgres://user@host/name, or"],
  ])("%p", async (args, words) => {
    const { code, stdout, stderr } = await store.run(args, { env });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(words);
    expect(stderr.trimEnd()).not.toContain("\n");
  });
});

test.each([
  ["", "missing token"],
  ["wrong", "the server does not know this token"],
])("the token %p is refused with one line and exit code 1", async (token, words) => {
  const { code, stdout, stderr } = await store.run(["list"], {
    env: { ...env, UNCAGED_WORKFLOW_TOKEN: token },
  });
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain(words);
  expect(stderr).toContain("UNCAGED_WORKFLOW_TOKEN");
  expect(stderr.trimEnd()).not.toContain("\n");
});

test("an answer from a step is refused before it is sent", async () => {
  const waiting = await ok("run", "other", "--params", JSON.stringify({ ask: 1 }));
  const step = { ...env, UNCAGED_WORKFLOW_WORKER: "mark" };
  const { code, stderr } = await store.run(["resume", waiting, "--input", "yes"], { env: step });
  expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining("step") });
});
