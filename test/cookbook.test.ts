import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import type { WorkflowFn } from "@uncaged/workflow";
import { openLocalHost } from "@uncaged/workflow/host";
import { replayEverywhere, runThread } from "@uncaged/workflow/testing";
import { typeErrorsIn } from "./samples.ts";
import { top } from "./source.ts";

/* Type-checks and runs every recipe of the cookbook. */
const page = readFileSync(join(top, "docs/guides/cookbook.md"), "utf8");
const sources = join(top, ".cache/cookbook");
const root = mkdtempSync(join(tmpdir(), "uncaged-cookbook-"));
const env = {
  ...process.env,
  UNCAGED_WORKFLOW_STORAGE_ROOT: root,
  UNCAGED_WORKFLOW_IDLE_MS: "100",
  PATH: [join(top, "node_modules/.bin"), process.env.PATH].join(delimiter),
};

const recipes = [...page.matchAll(/```ts (\w+)\n([\s\S]*?)```/g)].map(
  ([, name = "", code = ""]) => ({ name, code }),
);
const scripts = [...page.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, script = ""]) => script);

/** Number of requests that the server refuses before the next success. */
let busy = 0;
let states: string[] = [];
const keys: string[] = [];
const server = Bun.serve({
  port: 0,
  fetch(request) {
    const key = request.headers.get("Idempotency-Key");
    if (key !== null) keys.push(key);
    return busy-- > 0
      ? new Response("busy", { status: 503 })
      : new Response(states.shift() ?? "hello");
  },
});
const url = server.url.href;

beforeAll(async () => {
  rmSync(sources, { recursive: true, force: true });
  mkdirSync(sources, { recursive: true });
  for (const { name, code } of recipes) writeFileSync(join(sources, `${name}.ts`), code);
  const host = openLocalHost({ path: root });
  for (const { name, code } of recipes) {
    if (code.includes("descriptor")) await host.register(name, join(sources, `${name}.ts`));
  }
}, 120_000);

afterAll(async () => {
  await server.stop(true);
  for (const path of [sources, root]) {
    rmSync(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
});

async function recipe(name: string): Promise<WorkflowFn> {
  const { run } = (await import(join(sources, `${name}.ts`))) as { run: WorkflowFn };
  return run;
}

function shell(script: string | undefined): string {
  const { stdout, stderr, exitCode } = Bun.spawnSync(["bash", "-ec", script ?? ""], {
    cwd: top,
    env,
  });
  if (exitCode !== 0) throw new Error(`exit code ${exitCode}: ${stderr.toString()}`);
  return stdout.toString();
}

test("the fifteen recipes have no type errors", () => {
  expect(page.match(/^## \d+\. /gm)).toHaveLength(15);
  expect([recipes.length, scripts.length]).toEqual([12, 3]);
  expect(typeErrorsIn(sources)).toBe("");
}, 60_000);

test("a failed request is retried", async () => {
  busy = 2;
  const { status, steps } = await runThread(await recipe("fetch"), { prompt: url });
  expect([status, steps.length, steps.at(-1)?.content]).toEqual(["completed", 3, "hello"]);
});

test("a command runs in the thread's folder", async () => {
  writeFileSync(join(root, "fruit.txt"), "apple\npear\napple\n");
  const given = { prompt: "apple", cwd: root, env: { PATH: process.env.PATH ?? "" } };
  const { steps } = await runThread(await recipe("command"), given);
  expect(steps[0]?.content).toContain("./fruit.txt:2");
});

test("many items run in batches", async () => {
  const outcome = await replayEverywhere(await recipe("batches"), { prompt: "a, bb, c, d, eee" });
  expect(outcome).toMatchObject({ result: { value: [1, 2, 1, 1, 3] } });
});

test("a failure among several calls is recorded", async () => {
  const outcome = await runThread(await recipe("settled"), { prompt: `${url} http://127.0.0.1:1` });
  expect(outcome).toMatchObject({ result: { value: { failed: ["http://127.0.0.1:1"] } } });
});

test("a failure undoes the earlier steps", async () => {
  const run = await recipe("saga");
  const full = await runThread(run, { params: { full: true } });
  expect(full).toMatchObject({ status: "failed", message: expect.stringContaining("full") });
  expect(full.steps.at(-1)?.role).toBe("cancel hotel");
  expect(await runThread(run, { params: { full: false } })).toMatchObject({ status: "completed" });
});

test("a poll ends when the page is ready", async () => {
  states = ["not yet", "not yet", "ready"];
  const { steps } = await runThread(await recipe("poll"), { prompt: url });
  expect(steps.filter(({ role }) => role === "poller")).toHaveLength(3);
});

test("a thread continues on a date", async () => {
  const outcome = await runThread(await recipe("date"), { params: { at: "2030-01-01" } });
  expect(outcome).toMatchObject({ result: { summary: "it is 2030-01-01" } });
});

test("an unanswered question gets a default", async () => {
  const run = await recipe("ask");
  expect(await runThread(run, { answers: ["red"] })).toMatchObject({ result: { summary: "red" } });
  const timedOut = { content: "", meta: { timedOut: true, value: "green" } };
  const outcome = await runThread(run, { answers: [timedOut] });
  expect(outcome).toMatchObject({ result: { summary: "green, by default" } });
});

test("each try of a payment uses the same key", async () => {
  busy = 2;
  await runThread(await recipe("once"), { prompt: url });
  expect([keys.length, new Set(keys).size]).toEqual([3, 1]);
});

test("a critic sends the text back to the writer", async () => {
  const { steps } = await replayEverywhere(await recipe("critic"), { prompt: "hey" });
  expect(steps.map(({ content }) => content)).toEqual(["hey", "louder", "hey!!", "good"]);
});

test("a model's answer has typed fields", async () => {
  const { steps } = await runThread(await recipe("typed"));
  expect(steps[0]?.meta).toMatchObject({ severity: "high", area: "login" });
});

test("a program starts a thread and waits for it", () => {
  const code = `import { answerTo } from "./host.ts"; console.log(await answerTo("critic", "ho"))`;
  writeFileSync(join(sources, "main.ts"), code);
  const { stdout } = Bun.spawnSync([process.execPath, join(sources, "main.ts")], {
    cwd: top,
    env,
  });
  expect(stdout.toString()).toBe("good\n");
});

test("a script pipes its input to a thread", () => {
  const { result } = JSON.parse(shell(scripts[0])) as { result: { value: unknown[] } };
  expect(result.value[0]).toBeGreaterThan(0);
});

test("two starts with the same id create one thread", () => {
  shell(scripts[1]);
  const found = shell("uncaged-workflow threads --search 'a, b' --quiet");
  expect(found.match(/01JD0000000000000000000001/g)).toHaveLength(1);
});

test("a script answers a question", () => {
  expect(shell(scripts[2])).toContain("red (return code 0)");
});
