import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pack, packStandalone } from "../scripts/pack.ts";
import { asking, flow, graph, roles } from "./packed-sources.ts";
import { npmInstall } from "./packed.ts";
import { top } from "./source.ts";

/*
 * Tests the standalone binary as a new user gets it: a single file, with an empty home and an empty PATH (no Node, npm
 * or Bun).
 */
const folder = mkdtempSync(join(tmpdir(), "uncaged standalone "));
const binary = join(folder, "uncaged-workflow");
const work = join(folder, "work");
const home = join(folder, "home");
const installed = join(folder, "installed");
const environment = { HOME: home, PATH: join(folder, "nothing"), UNCAGED_WORKFLOW_IDLE_MS: "100" };

const uncaged = (args: string[], cwd = work) => {
  const done = Bun.spawnSync([binary, ...args], { cwd, env: environment, stdin: "ignore" });
  const [stdout, stderr] = [done.stdout.toString(), done.stderr.toString()];
  return { code: done.exitCode, stdout, stderr };
};

const add = (name: string, file: string, text: string) => {
  writeFileSync(join(work, file), text);
  return uncaged(["add", name, file]);
};

const added = { code: 0, stdout: expect.stringMatching(/^[0-9A-HJKMNP-TV-Z]{13}\n$/) };
const completed = { code: 0, stderr: expect.stringMatching(/^completed\b/m) };

beforeAll(async () => {
  const tarballs = Object.values(await pack());
  cpSync(await packStandalone(), binary);
  for (const path of [work, home, installed]) mkdirSync(path);
  npmInstall(installed, join(folder, "home of npm"), tarballs);
}, 300_000);

afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));

const greeter = `export const descriptor = { description: "Greets.", roles: {} };
export async function* run({ prompt, steps }) {
  for (let n = steps.length; n < 2; n += 1) {
    yield { role: "greeter", content: "hello " + prompt + n, meta: { exec: process.execPath } };
  }
  return { returnCode: 0, summary: "greeted" };
}
`;

test("a bundle can be added, and runs in a worker that is the binary itself", () => {
  expect(add("greet", "greet.esm.js", greeter)).toMatchObject(added);
  expect(uncaged(["run", "greet", "--prompt", "you", "--wait"])).toMatchObject(completed);
  const { stdout } = uncaged(["thread", "@last", "--json"]);
  expect(stdout).toContain(JSON.stringify(binary));
  expect(readdirSync(join(home, ".uncaged/workflow")).toSorted()).toContain("logs");
});

test("a new project builds and runs without installed packages", () => {
  expect(uncaged(["new", "lists"])).toMatchObject({ code: 0 });
  const project = join(work, "lists");
  expect(uncaged(["add", "lists", "workflow.ts"], project)).toMatchObject(added);
  const run = ["run", "lists", "--prompt", "apples, pears", "--wait"];
  expect(uncaged(run, project)).toMatchObject(completed);
});

test("a step workflow is built with the interpreter inside the binary", () => {
  expect(uncaged(["new", "flow", "--template", "steps"])).toMatchObject({ code: 0 });
  const project = join(work, "flow");
  expect(uncaged(["add", "flow", "flow.json"], project)).toMatchObject(added);
  expect(uncaged(["run", "flow", "--wait"], project)).toMatchObject(completed);
});

test("a source can import agents and schemas without installing them", () => {
  const source = `import { createRoleModerator, END } from "@uncaged/workflow";
    import { describe, role, scriptedAgent } from "@uncaged/workflow-agents";
    import { z } from "zod";
    const schema = z.object({ files: z.array(z.string()) });
    const agent = scriptedAgent({ "You plan": '{"files":["a.ts"]}' });
    const planner = role({ description: "Plans", agent, systemPrompt: "You plan.", schema });
    export const descriptor = describe("Plans", { planner });
    export const run = createRoleModerator({ roles: { planner },
      moderator: ({ steps }) => (steps.length > 0 ? END : "planner") });`;
  expect(add("plan", "plan.ts", source)).toMatchObject(added);
  expect(uncaged(["run", "plan", "--wait"])).toMatchObject(completed);
});

test.each([
  ["flow.json", JSON.stringify({ ...flow, steps: [...flow.steps.slice(0, 2), ...asking.steps] })],
  ["graph.json", JSON.stringify(graph)],
  ["roles.ts", roles],
])("%s builds to the same bytes as with packages installed by npm", (file, text) => {
  const hashes = new Set<string>();
  const build = (command: string, cwd: string) => {
    writeFileSync(join(cwd, file), text.replace('"next":"Write_Text"', '"next":"LLM_Ask"'));
    const argv = [command, "build", file, "--out", "same.esm.js", "--json"];
    const env = command === binary ? environment : { ...process.env, HOME: home };
    const { exitCode, stdout } = Bun.spawnSync(argv, { cwd, env, stdin: "ignore" });
    expect(exitCode).toBe(0);
    hashes.add((JSON.parse(stdout.toString()) as { hash: string }).hash);
  };
  build(join(installed, "node_modules/.bin/uncaged-workflow"), installed);
  for (let count = 0; count < 6; count += 1) build(binary, work);
  expect(hashes.size).toBe(1);
});

test("an error has the line of the author's source", () => {
  const source = `const deep = () => { throw new Error("deep trouble"); };
    export const descriptor = { description: "Fails.", roles: {} };
    export async function* run() { deep(); }`;
  expect(add("fails", "fails.ts", source)).toMatchObject(added);
  const { code, stderr } = uncaged(["run", "fails", "--wait"]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/fails\.ts:1:\d+/);
});

test("an error names a missing import, and an entry point that bundles can't import", () => {
  for (const missing of ["left-pad", "@uncaged/workflow/host", "zod/v9"]) {
    const { code, stderr } = add("bad", "bad.ts", `import x from "${missing}"; export default x;`);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: bad\.ts:1:15: Could not resolve: ".*".*\n$/);
    expect(stderr).toContain(missing);
  }
});

test("a macro is refused", () => {
  writeFileSync(join(work, "macro-file.ts"), "export const now = () => 1;");
  const source = `import { now } from "./macro-file.ts" with { type: "macro" };
    export const descriptor = { description: String(now()), roles: {} };`;
  expect(add("macro", "macro.ts", source)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("Macros are disabled"),
  });
});

test("the binary ignores bunfig.toml and .env of the folder", () => {
  const hostile = join(work, "hostile");
  mkdirSync(hostile);
  writeFileSync(join(hostile, "bunfig.toml"), 'preload = ["./gone.ts"]\n');
  writeFileSync(join(hostile, ".env"), "UNCAGED_WORKFLOW_STORAGE_ROOT=/nowhere\n");
  const { code, stdout } = uncaged(["list", "--quiet"], hostile);
  expect({ code, names: stdout.split("\n") }).toEqual({
    code: 0,
    names: expect.arrayContaining(["greet", "plan"]),
  });
});

test("dev builds a file at each save, and exits on request", async () => {
  const file = join(work, "saved.ts");
  const source = (word: string) => `export const descriptor = { description: "Speaks.", roles: {} };
    export async function* run({ steps }: { steps: unknown[] }) {
      if (steps.length === 0) yield { role: "speaker", content: "${word}", meta: {} };
      return { returnCode: 0, summary: "spoken" };
    }`;
  writeFileSync(file, source("one"));
  const streams = { stdin: "ignore", stdout: "pipe", stderr: "inherit" } as const;
  const command = [binary, "dev", file, "--json"];
  const dev = Bun.spawn(command, { cwd: work, env: environment, ...streams });
  const output = dev.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let printed = "";
  const until = async (text: string) => {
    while (!printed.includes(text)) {
      const { done, value } = await output.read();
      if (done) throw new Error(`dev has ended, and printed ${printed}`);
      printed += value;
    }
  };
  await until('"content":"one"');
  writeFileSync(file, source("two"));
  await until('"content":"two"');
  dev.kill("SIGINT");
  expect(await dev.exited).toBe(0);
}, 180_000);

test("the binary serves the console and the API", async () => {
  const command = [binary, "serve", "--port", "0", "--json"];
  const streams = { stdin: "ignore", stdout: "pipe", stderr: "inherit" } as const;
  const serve = Bun.spawn(command, { cwd: work, env: environment, ...streams });
  const { value } = await serve.stdout.getReader().read();
  const { url, token } = JSON.parse(new TextDecoder().decode(value)) as Record<string, string>;
  const { origin } = new URL(url ?? "");
  const ask = (path: string) =>
    fetch(origin + path, { headers: { Authorization: `Bearer ${token}` } });
  const page = await (await ask("/")).text();
  const [, script = "none"] = /<script[^>]*src="(\/assets\/[^"]+)"/.exec(page) ?? [];
  const built = readFileSync(join(top, "apps/web/dist", script), "utf8");
  expect(await (await ask(script)).text()).toBe(built);
  expect(await (await ask("/api/workflows")).text()).toContain("greet");
  serve.kill("SIGINT");
  expect(await serve.exited).toBe(0);
});

test("the binary lists the licences of its packages", () => {
  const text = readFileSync(join(top, ".pack/standalone/THIRD-PARTY-LICENSES.txt"), "utf8");
  const named = [...text.matchAll(/^(\S+) \d+\.\d+\.\d+$/gm)].map(([, name]) => name);
  expect(named).toEqual(
    expect.arrayContaining([
      "commander",
      "yaml",
      "hono",
      "openai",
      "zod",
      "react",
      "@xyflow/react",
    ]),
  );
});
