import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { removeFolders, Store } from "./program.ts";

afterAll(removeFolders);

let store: Store;
beforeAll(() => void (store = new Store()));

type Entry = { key: string; value: unknown; from: string };

test("settings are listed, set, got and unset", async () => {
  const before = await store.json<Entry[]>(["plan", "config"]);
  expect(before.find(({ key }) => key === "max_runs")).toMatchObject({ value: 5, from: "default" });
  await store.ok(["plan", "config", "set", "max_runs", "3"]);
  await store.ok(["plan", "config", "set", "telegram.token", "${BOT}"]);
  expect(readFileSync(join(store.root, "plans/config.yaml"), "utf8")).toBe(
    "max_runs: 3\ntelegram:\n  token: ${BOT}\n",
  );
  const env = { BOT: "123:secret" };
  expect(await store.ok(["plan", "config", "get", "max_runs"], { env })).toBe("3");
  const table = await store.ok(["plan", "config"], { env });
  expect(table).toMatch(/^telegram\.token +\*\*\* +\/.*config\.yaml$/m);
  expect(table).not.toContain("123:secret");
  const { code, stderr } = await store.run(["plan", "config"]);
  expect({ code, stderr }).toMatchObject({ code: 1 });
  expect(stderr).toMatch(/^error: .*telegram\.token: \$\{BOT\} is not set; hint: .*\n$/);
  await store.ok(["plan", "config", "unset", "telegram.token"]);
  expect(await store.json<Entry>(["plan", "config", "get", "telegram.token"])).toMatchObject({
    ...{ value: null, from: "default" },
  });
});

test("the home may be elsewhere, and the project's file goes before it", async () => {
  const home = join(store.folder, "elsewhere");
  const project = join(store.folder, "project");
  mkdirSync(project);
  writeFileSync(join(project, "uncaged.json"), "{}");
  writeFileSync(join(project, "uncaged.plans.yaml"), "max_runs: 7\n");
  const env = { UNCAGED_PLAN_HOME: home, UNCAGED_WORKFLOW_STORAGE_ROOT: "" };
  await store.ok(["plan", "config", "set", "max_parallel_steps", "2"], { env, cwd: project });
  const entries = await store.json<Entry[]>(["plan", "config"], { env, cwd: project });
  expect(entries).toContainEqual(
    expect.objectContaining({
      ...{ key: "max_parallel_steps", value: 2, from: join(home, "config.yaml") },
    }),
  );
  expect(entries).toContainEqual(
    expect.objectContaining({
      ...{ key: "max_runs", value: 7, from: join(project, "uncaged.plans.yaml") },
    }),
  );
});

test("what is wrong is one line, and a group alone says what it needs", async () => {
  for (const [args, code, message] of [
    [["plan"], 2, "error: plan needs a command; hint: see: uncaged-workflow plan --help\n"],
    [["plan", "lst"], 2, /^error: unknown command 'lst'; hint: did you mean list\?\n$/],
    [["plan", "config", "set", "max_runs"], 2, /^error: missing .*plan config set --help\n$/],
    [["plan", "config", "get", "max_run"], 1, /^error: .*; hint: did you mean max_runs\?\n$/],
  ] as const) {
    const ended = await store.run([...args]);
    expect(ended.code).toBe(code);
    expect(ended.stdout).toBe("");
    if (typeof message === "string") expect(ended.stderr).toBe(message);
    else expect(ended.stderr).toMatch(message);
  }
});

test("settings are completed", async () => {
  const lines = await store.ok(["__complete", "--", "plan", "config", "get", "max"]);
  expect(lines.split("\n").map((line) => line.split("\t")[0])).toEqual([
    ...["max_parallel_steps", "max_runs"],
  ]);
});
