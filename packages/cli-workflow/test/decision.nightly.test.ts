import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { anthropicServer } from "../../workflow-agents/test/anthropic-server.ts";
import type { WireServer } from "../../workflow-agents/test/wire.ts";
import { Store, removeFolders } from "./program.ts";

/* A person decides on a model's tool calls at the command line. */
setDefaultTimeout(60_000);
const store = new Store();
const marks = join(store.folder, "marks");
let server: WireServer<object>;
let env: Record<string, string>;
let id = "";

type View = { status: string; steps: { role: string; content: string }[] };

beforeAll(async () => {
  server = await anthropicServer((body) => {
    const { messages } = body as { messages: object[] };
    if (messages.length > 1) return { text: JSON.stringify(messages.at(-1)) };
    const call = (n: number, note: string) => ({ name: "deploy", input: { n, note } });
    return { text: "I deploy.", tools: [call(1, "first"), call(2, "x".repeat(2000))] };
  });
  env = { ANTHROPIC_API_KEY: server.key, ANTHROPIC_BASE_URL: server.url };
  const source = join(import.meta.dir, "../../workflow-agents/test/approve/approve.ts");
  await store.ok(["add", "deploys", source]);
});
afterAll(async () => {
  await server.stop();
  removeFolders();
});

test("a question is shown with the commands to decide on it", async () => {
  rmSync(marks, { force: true });
  const { code, stdout, stderr } = await store.run(
    ["run", "deploys", "--prompt", "claude", "--wait"],
    { env },
  );
  expect(code).toBe(6);
  id = stdout.trim();
  expect(stderr).toContain('waiting: claude asks to run deploy {"n":1,"note":"first"}\n');
  expect(stderr).toContain(
    `approve it: uncaged-workflow resume ${id} --approve; or change it: --edit JSON; or refuse it: --refuse REASON`,
  );
  expect(await store.ok(["threads"])).toContain("waiting");
  const shown = await store.ok(["thread", id]);
  expect(shown).not.toContain("lost");
  expect(shown).toContain('asks to run deploy {"n":1,"note":"first"}');
});

test("several decision options, invalid JSON, an invalid input or a wrong token change nothing", async () => {
  for (const [args, problem] of [
    [["--approve", "--refuse", "no"], "--approve and --refuse can't be used together"],
    [["--approve", "--input", "true"], "--approve and --input can't be used together"],
    [["--edit", "{n:1}"], "--edit:1:2: a value is expected"],
  ] as const) {
    const { code, stderr } = await store.run(["resume", id, ...args], { env });
    expect([code, stderr.split("\n")[0]]).toEqual([2, expect.stringContaining(problem)]);
  }
  const wrong = await store.run(["resume", id, "--edit", '{"n":"two"}'], { env });
  expect(wrong.code).toBe(1);
  expect(wrong.stderr.split("\n")[0]).toContain(
    "invalid answer to tool: value/input/n must be number",
  );
  const late = await store.run(["resume", id, "--approve", "--token", "another"], { env });
  expect(late.stderr).toContain("the answer's token does not match tool");
  expect((await store.json<View>(["thread", id])).steps).toHaveLength(1);
});

test("after an edit of one call and a refusal of the next call, the model reads both decisions", async () => {
  await store.ok(["resume", id, "--edit", '{"n":1,"note":" by hand"}'], { env });
  const second = await store.until<View>(id, "waiting");
  expect(second.steps).toHaveLength(3);
  const long = await store.ok(["thread", id]);
  expect(long).toContain("xxx");
  const { code } = await store.run(["resume", id, "--refuse", "not on a Friday", "--wait"], {
    env,
  });
  expect([code, existsSync(marks) && readFileSync(marks, "utf8")]).toEqual([0, "1 by hand\n"]);
  const { steps } = await store.json<View>(["thread", id]);
  expect(steps.at(-1)?.content).toContain("a person refused this call: not on a Friday");
  expect(steps.at(-1)?.content).toContain("A person has changed the input");
  const over = await store.run(["resume", id, "--approve"], { env });
  expect([over.code, over.stderr]).toEqual([1, expect.stringContaining("is completed")]);
});
