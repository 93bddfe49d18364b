import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { WorkflowFn } from "@uncaged/workflow";
import { openLocalHost, settled, threadJson, type ThreadJson } from "@uncaged/workflow/host";
import { checkVersion, preparedBundle } from "@uncaged/workflow/internal";
import { replayEverywhere } from "@uncaged/workflow/testing";
import { makeRepository } from "./repository.ts";
import { warningsOn } from "./warned.ts";
import { top } from "./source.ts";
import { some } from "../packages/workflow/test/fixtures/cases.ts";

/* Adds and runs the examples as a user would, through the engine. */
const folder = mkdtempSync(join(tmpdir(), "uncaged-examples-"));
const host = openLocalHost({ path: join(folder, "root") });
const { env } = process;
const idleBefore = env.UNCAGED_WORKFLOW_IDLE_MS;

beforeAll(async () => {
  env.UNCAGED_WORKFLOW_IDLE_MS = "500";
  for (const [name, file] of Object.entries(sources)) {
    await host.register(name, join(top, "examples", file));
  }
}, 180_000);

afterAll(() => {
  if (idleBefore === undefined) delete env.UNCAGED_WORKFLOW_IDLE_MS;
  else env.UNCAGED_WORKFLOW_IDLE_MS = idleBefore;
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

const sources = {
  count: "01-plain.esm.js",
  shorten: "02-moderator.ts",
  inventory: "03-durable.ts",
  review: "review-repository/workflow.ts",
};

type Given = { prompt?: string; cwd?: string; params?: unknown; env?: typeof env };

async function run(workflow: keyof typeof sources, given: Given = {}): Promise<ThreadJson> {
  const { threadId, hash } = await host.start({ workflow, cwd: folder, env, ...given });
  return threadJson(await settled(host, { threadId, hash }));
}

const rolesOf = ({ steps }: ThreadJson): string[] => steps.map(({ role }) => role);

describe("the course", () => {
  const course = join(top, "examples/review-repository");

  test("1: a plain bundle that imports nothing", async () => {
    const thread = await run("count", { prompt: "one two  three" });
    expect(thread).toMatchObject({ status: "completed", result: { summary: "3 words" } });
    expect(rolesOf(thread)).toEqual(["splitter", "counter"]);
  });

  test("2: two roles alternate until the moderator ends the thread", async () => {
    const thread = await run("shorten", { prompt: "It is really very nice" });
    expect(thread.result).toEqual({ returnCode: 0, summary: "It is nice" });
    expect(rolesOf(thread)).toEqual(["editor", "critic", "editor", "critic", "editor", "critic"]);
  });

  test("3: durable code asks before it writes", async () => {
    const cwd = mkdtempSync(join(folder, "inventory-"));
    writeFileSync(join(cwd, "a.txt"), "four");
    const asked = await run("inventory", { prompt: "OUT.md", cwd });
    expect(asked.status).toBe("waiting");
    expect(asked.steps.at(-1)?.content).toContain("Write the inventory into OUT.md");
    await host.control(asked, { kind: "answer", env, input: { content: "true", value: true } });
    const done = threadJson(await settled(host, asked));
    expect(done.result).toEqual({ returnCode: 0, summary: "wrote OUT.md" });
    expect(readFileSync(join(cwd, "OUT.md"), "utf8")).toContain("- a.txt: 4 bytes");
  });

  test.each(
    some(
      [
        ["01-plain.esm.js", { prompt: "a b" }],
        ["02-moderator.ts", { prompt: "just do it" }],
        ["03-durable.ts", { prompt: join(folder, "again.md"), cwd: course, answers: ["true"] }],
      ],
      0,
      2,
    ),
  )("%s has the same result when it continues from any of its steps", async (file, options) => {
    const bundle = (await import(join(top, "examples", file))) as { run: WorkflowFn };
    expect(await replayEverywhere(bundle.run, options)).toMatchObject({ status: "completed" });
  });
});

const key = `${"-".repeat(5)}BEGIN RSA PRIVATE KEY${"-".repeat(5)}`;
const marker = ["TO", "DO"].join("");
const busy = (n: number) =>
  `export function busy(a) {\n${`  a += ${n};\n`.repeat(80)}}\n// ${marker} give it a name\n`;

/** Creates a repository with findings. Returns its folder. */
function faulty(name: string): string {
  const cwd = join(folder, name);
  makeRepository(cwd, [
    { "src/busy.js": busy(1), "src/keys.pem": `${key}\n`, "src/calm.py": "pass\n" },
    { "src/busy.js": busy(2), "test/calm_test.py": "pass\n" },
    { "src/busy.js": busy(3), "docs/a b.md": `${"<".repeat(7)} theirs\n`, "run.lock": "x\n" },
  ]);
  return cwd;
}

test("the README's code equals the reviewer's source", () => {
  const [, code] = /```ts\n([\s\S]*?)```/.exec(readFileSync(join(top, "README.md"), "utf8")) ?? [];
  expect(code).toBe(readFileSync(join(top, "examples", sources.review), "utf8"));
});

describe("the repository reviewer", () => {
  test("plans, reads the busiest files one by one, and reports what to fix", async () => {
    const cwd = faulty("faulty");
    const thread = await run("review", { cwd });
    expect(rolesOf(thread)).toEqual(["planner", ...Array<string>(5).fill("reader"), "reporter"]);
    const report = thread.steps.at(-1)?.content ?? "";
    expect(report).toContain("## Urgent");
    expect(report).toContain("`src/keys.pem:1` looks like a secret");
    expect(report).toContain("`docs/a b.md:1` a merge conflict with theirs was committed");
    expect(report).toContain("a function of 81 lines");
    expect(report).toContain(`left open: ${marker} give it a name`);
    expect(report).toContain("changed 3 times, and no test has its name");
    expect(report).not.toContain("calm.py");
    expect(thread.result?.summary).toBe("5 findings in 5 files, 2 of them urgent");
  });

  test("reports the same for the same commit, regardless of other files and the environment", async () => {
    const [one, two] = [faulty("one"), faulty("two")];
    const odd = { ...env, GIT_DIR: join(one, "src"), GIT_CONFIG_COUNT: "1" };
    Object.assign(odd, { GIT_CONFIG_KEY_0: "log.showRoot", GIT_CONFIG_VALUE_0: "false" });
    writeFileSync(join(two, "src/busy.js"), "not committed\n");
    const [a, b] = [await run("review", { cwd: one }), await run("review", { cwd: two, env: odd })];
    expect(a.steps.map(({ content }) => content)).toEqual(b.steps.map(({ content }) => content));
  });

  test("fails without a repository and names the reason, and refuses unknown params", async () => {
    const cwd = mkdtempSync(join(tmpdir(), "uncaged-none-"));
    const none = await run("review", { cwd });
    expect(none.status).toBe("failed");
    expect(none.result?.summary).toBe(`${cwd} is not a git repository`);
    rmSync(cwd, { recursive: true });
    const { result } = await run("review", { params: { files: 0 } });
    expect(result?.summary).toBe("params.files is 0, not a number from 1 to 50");
  });
});

test("a check reports the step and the line at which the reviewer's second version diverges from a thread", async () => {
  const { threadId } = await run("review", { cwd: faulty("checked") });
  const next = join(top, "examples/review-repository/workflow-v2.ts");
  const found = await checkVersion(host, "review", await preparedBundle(next), { threads: 1 });
  expect(found.threads).toMatchObject([
    {
      ...{ threadId, status: "diverges" },
      at: { step: 2, recorded: "reader", expected: "historian or reader" },
      line: { text: "const [history, ...readings] = yield* step.all([" },
    },
  ]);
  const same = await checkVersion(host, "inventory", "inventory");
  expect(same.threads.map(({ status }) => status)).toEqual(["ended"]);
});

test("no step of an example violates its descriptor", async () => {
  expect(await warningsOn(host)).toEqual([]);
});
