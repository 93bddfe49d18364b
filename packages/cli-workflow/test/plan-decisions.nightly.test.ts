import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../../workflow/test/fixtures/until.ts";
import { programWords } from "./command.ts";
import { PlanStore } from "./planned.ts";
import { removeFolders } from "./program.ts";

let store: PlanStore;
beforeAll(async () => void (store = await PlanStore.open()));
afterAll(async () => {
  await store.stop();
  removeFolders();
});

test("secrets are readable only by their owner, listed by name and never shown", async () => {
  const value = 'a "quoted"\nvalue of two lines';
  await store.ok(["plan", "secret", "set", "BUILD_TOKEN"], { stdin: `${value}\n` });
  expect(await store.json<string[]>(["plan", "secret", "list"])).toEqual(["BUILD_TOKEN"]);
  const file = join(store.root, "plans/secrets.json");
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({ BUILD_TOKEN: `${value}\n` });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  for (const [name, stdin] of [
    ["PATH", "x"],
    ["a b", "x"],
    ["EMPTY_TOKEN", ""],
    ["EMPTY_TOKEN", "\n"],
  ] as const) {
    const ended = await store.run(["plan", "secret", "set", name], { stdin });
    expect(ended.code).toBeGreaterThan(0);
    expect(ended.stdout).toBe("");
    expect(ended.stderr).toMatch(/^error: [^\n]+\n$/);
  }
  const before = readFileSync(file, "utf8");
  writeFileSync(file, "{ broken");
  const broken = await store.run(["plan", "secret", "set", "OTHER_TOKEN"], { stdin: "x" });
  expect(broken.code).toBe(1);
  expect(readFileSync(file, "utf8")).toBe("{ broken");
  writeFileSync(file, before);
  await store.ok(["plan", "secret", "remove", "BUILD_TOKEN"]);
  expect(await store.json<string[]>(["plan", "secret", "list"])).toEqual([]);
});

test("a secret is not shown while the user types it", async () => {
  let shown = "";
  const child = Bun.spawn([...programWords, "plan", "secret", "set", "TYPED_TOKEN"], {
    ...{ cwd: store.folder, env: { ...store.env, TERM: "dumb" } },
    terminal: {
      ...{ cols: 80, rows: 24 },
      data: (_terminal, bytes) => void (shown += new TextDecoder().decode(bytes)),
    },
  });
  await until(() => shown.includes("TYPED_TOKEN: "));
  child.terminal?.write("s3cret-valuX\x7fe\r");
  expect(await child.exited).toBe(0);
  expect(shown).toContain("stored TYPED_TOKEN");
  expect(shown).not.toContain("s3cret");
  const file = readFileSync(join(store.root, "plans/secrets.json"), "utf8");
  expect(JSON.parse(file)).toEqual({ TYPED_TOKEN: "s3cret-value" });
});
