import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { playStore, removeFolders, type Store } from "./program.ts";

afterAll(removeFolders);

type View = {
  status: string;
  prompt: string;
  maxRounds: number;
  steps: { role: string; content: string; meta: Record<string, unknown> }[];
  result: { returnCode: number; summary: string } | null;
};

let store: Store;

beforeAll(async () => {
  store = await playStore({ inMemory: true });
});

const promptOf = async (id: string): Promise<string> => {
  const { prompt } = await store.json<View>(["thread", id]);
  return prompt;
};

test("run prints only the id and returns while the thread runs", async () => {
  const { code, stdout, stderr } = await store.run(["run", "play", "--params", '{"ms":60000}']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(/^[0-7][0-9A-HJKMNP-TV-Z]{25}\n$/);
  const id = stdout.trim();
  expect((await store.json<View>(["thread", id])).status).toBe("running");
  await store.ok(["kill", id]);
});

test("--wait prints the id and exits with the thread's own return code", async () => {
  const done = await store.run(["run", "play", "--wait"]);
  expect(done.code).toBe(0);
  expect(done.stdout).toMatch(/^[0-9A-Z]{26}\n$/);
  expect(done.stderr).toBe("completed: played\n");
  const failed = await store.run(["run", "play", "--wait", "--params", '{"code":7}']);
  expect(failed.code).toBe(7);
  expect(failed.stderr).toContain("failed (return code 7): played");
});

test("--wait of a thread that throws exits with 1 and prints the message", async () => {
  const { code, stderr } = await store.run(["run", "play", "--wait", "--params", '{"fail":2}']);
  expect(code).toBe(1);
  expect(stderr).toContain("it broke");
  expect(stderr).toContain("uncaged-workflow retry");
});

test("--wait of a thread that asks exits with 6, and prints the question and the command that answers", async () => {
  const asked = await store.run(["run", "play", "--wait", "--params", '{"ask":2}']);
  expect(asked.code).toBe(6);
  expect(asked.stderr).toContain("waiting: Go on?");
  const id = asked.stdout.trim();
  expect(asked.stderr).toContain(`uncaged-workflow resume ${id} --input`);
  await store.ok(["resume", id, "--input", '{"approved":true}']);
  const { steps } = await store.until<View>(id, "completed");
  expect(steps.map(({ role }) => role)).toEqual(["planner", "__wait__", "__input__"]);
  expect(steps[2]).toMatchObject({
    content: '{"approved":true}',
    meta: { value: { approved: true } },
  });
});

test("--follow shows one line per step, in a pipe without color, truncation or spinner", async () => {
  const say = `first line that is long ${"word ".repeat(40)}end`;
  const { code, stdout, stderr } = await store.run([
    ...["run", "play", "--follow"],
    ...["--params", JSON.stringify({ say: `\n${say}\nsecond`, code: 3 })],
  ]);
  const lines = stdout.trimEnd().split("\n");
  expect(code).toBe(3);
  expect(lines).toHaveLength(4);
  expect(lines[0]).toMatch(/^ {2}1 {2}planner +\d+\.\ds {2}5 tokens {2}first line/);
  expect(lines[0]).toEndWith("end");
  expect(lines[3]).toBe("failed (return code 3): played");
  expect(stdout + stderr).not.toMatch(/[\u001b\r]/);
  expect(stderr).toContain("15 tokens");
});

test("--follow --json begins with the started thread", async () => {
  const lines = (await store.ok(["run", "play", "--follow", "--json"])).split("\n");
  const items = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(items[0]).toMatchObject({ kind: "start", workflow: "play" });
  expect(items.at(-1)).toMatchObject({ kind: "end", status: "completed" });
});

test("--quiet prints only the id", async () => {
  const { stdout, stderr } = await store.run(["run", "play", "--wait", "-q"]);
  expect(stdout).toMatch(/^[0-9A-Z]{26}\n$/);
  expect(stderr).toBe("");
});

test("the thread has the working folder and the environment of the command", async () => {
  const cwd = join(store.folder, "elsewhere");
  mkdirSync(cwd);
  const id = await store.ok(["run", "play", "--wait"], { cwd });
  const { steps } = await store.json<View>(["thread", id]);
  expect(steps[0]?.meta.cwd).toBe(realpathSync(cwd));
});

test("the workflow gets its options, and --max-rounds limits its steps", async () => {
  const started = ["--option", "extra=[1,2]", "--max-rounds", "1"];
  const { code, stdout } = await store.run(["run", "play", "--params", "{}", "--wait", ...started]);
  expect(code).toBe(5);
  const view = await store.json<View>(["thread", stdout.trim()]);
  expect(view.steps.map(({ meta }) => meta.extra)).toEqual([[1, 2]]);
  expect(view).toMatchObject({ maxRounds: 1, status: "completed" });
});

test("params are read from a file", async () => {
  const path = join(store.folder, "params.json");
  writeFileSync(path, '{"steps":1}');
  const id = await store.ok(["run", "play", "--wait", "--params", `@${path}`]);
  expect((await store.json<View>(["thread", id])).steps).toHaveLength(1);
});

test("a prompt keeps every kind of line break, from the command line, a file and stdin", async () => {
  const prompt = "a\nb\r\nc\rd\u2028e\u2029f\u0085g\vh\fi\n\n\ttab 日本 👩‍👩‍👧 \ufeff end";
  const path = join(store.folder, "prompt.txt");
  writeFileSync(path, prompt);
  for (const args of [
    ["--prompt", prompt],
    ["--prompt-file", path],
  ]) {
    expect(await promptOf(await store.ok(["run", "play", ...args]))).toBe(prompt);
  }
  const onRoot = await playStore();
  for (const option of ["--prompt", "--prompt-file"]) {
    const id = await onRoot.ok(["run", "play", option, "-"], { stdin: prompt });
    expect((await onRoot.json<View>(["thread", id])).prompt).toBe(prompt);
  }
});

test("a prompt can look like an option", async () => {
  const id = await store.ok(["run", "play", "--prompt", "--json"]);
  expect(await promptOf(id)).toBe("--json");
});

test("a prompt without quotes is refused with the option for prompts", async () => {
  for (const words of [
    ["a", "b"],
    ["--prompt", "a", "b"],
  ]) {
    const { code, stderr } = await store.run(["run", "play", ...words]);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining("uncaged-workflow run <workflow> --prompt 'TEXT'"),
    });
  }
});

test("retry with another prompt or other params is refused with the right command", async () => {
  const hints = {
    "--params": "uncaged-workflow rerun <id> --params JSON",
    "--prompt": "uncaged-workflow rerun <id> --prompt TEXT",
    "--prompt-file": "uncaged-workflow rerun <id> --prompt-file <file>",
  };
  for (const [option, hint] of Object.entries(hints)) {
    const { code, stderr } = await store.run(["retry", "@last", option, "{}"]);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(hint) });
  }
  expect((await store.run(["retry", "@last", "--nope"])).stderr).toContain("retry --help");
});

test("an id can be shortened to a prefix or a suffix, and @last is the newest thread", async () => {
  const id = await store.play({}, "--wait");
  for (const text of [id.slice(-8), id.slice(-8).toLowerCase(), id.slice(0, 20), "@last"]) {
    expect((await store.json<{ threadId: string }>(["thread", text])).threadId).toBe(id);
  }
  const { code, stderr } = await store.run(["thread", id.slice(0, 4)]);
  expect(code).toBe(2);
  expect(stderr).toMatch(/matches \d+ threads; hint: give more of the id/);
});

test("show lists the required params, and a start without them is refused", async () => {
  const path = join(store.root, "..", `params-${process.pid}.esm.js`);
  writeFileSync(
    path,
    `export const descriptor = { description: "d", roles: {}, input: { type: "object", required: ["list"],
      properties: { list: { type: "string" }, mode: { enum: ["fast", "slow"] }, any: true } } };
    export async function* run() { return { returnCode: 0, summary: "" }; }`,
  );
  await store.ok(["add", "listing", path]);
  const { code, stderr } = await store.run(["run", "listing", "--params", "{}"]);
  expect([code, stderr]).toEqual([2, expect.stringContaining("uncaged-workflow show listing")]);
  const shown = await store.ok(["show", "listing"]);
  expect(shown).toContain('params    list: string (required), mode: "fast" | "slow", any: any');
});
