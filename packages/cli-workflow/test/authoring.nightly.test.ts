import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { programWords } from "./command.ts";
import { Store, newFolder, playBundle, removeFolders } from "./program.ts";

afterAll(removeFolders);

const tsc = join(import.meta.dir, "../../../node_modules/.bin/tsc");

test("a new project builds, type-checks and runs immediately", async () => {
  const store = new Store();
  const project = await store.json<{ name: string; dir: string; files: string[] }>([
    ...["new", "my-review"],
  ]);
  expect(project.name).toBe("my-review");
  expect(readdirSync(project.dir).sort()).toEqual(
    [...project.files, "node_modules"].sort((a, b) => (a < b ? -1 : 1)),
  );
  const types = Bun.spawn([tsc, "-p", project.dir], { stdout: "pipe" });
  expect(await types.stdout.text()).toBe("");
  expect(await types.exited).toBe(0);
  const here = { cwd: project.dir };
  await store.ok(["add"], here);
  const run = ["run", "my-review", "--prompt", "apples, pears", "--follow"];
  expect(await store.ok(run, here)).toContain("Topics: apples, pears");
  expect(await store.ok(["fork", "@last", "--from-role", "planner", "--follow"])).toContain("kept");
});

test("a new team of agents type-checks, runs without a key, requests an approval before a write, and costs nothing", async () => {
  const store = new Store();
  const { dir } = await store.json<{ dir: string }>(["new", "team", "--template", "agents"]);
  const types = Bun.spawn([tsc, "-p", dir], { stdout: "pipe" });
  expect(await types.stdout.text()).toBe("");
  expect(await types.exited).toBe(0);
  const here = { cwd: dir, env: { ANTHROPIC_API_KEY: "" } };
  await store.ok(["add"], here);
  const question = ["--prompt", "What is this?", "--max-cost", "0.50"];
  const asked = await store.run(["run", "team", ...question, "--follow"], here);
  expect(asked).toMatchObject({ code: 6, stderr: expect.stringContaining("approve it: ") });
  expect(asked.stdout).toContain("waiting: writer asks to run save_answer");
  expect(existsSync(join(dir, "ANSWER.md"))).toBe(false);
  const shown = await store.ok(["resume", "@last", "--input", "true", "--follow"], here);
  expect(shown).toContain("completed: It agrees with README.md.");
  expect(readFileSync(join(dir, "ANSWER.md"), "utf8")).toContain("a team of agents");
  const ledger = await store.json<object>(["thread", "@last", "--ledger"], here);
  expect(ledger).toMatchObject({ total: { cost: 0, unpriced: 0 } });
});

test("the types of a new team of agents accept the guide's scorer, and name the errors of a wrong scorer", async () => {
  const store = new Store();
  const { dir } = await store.json<{ dir: string }>(["new", "team", "--template", "agents"]);
  const guide = readFileSync(join(import.meta.dir, "../../../docs/guides/evals.md"), "utf8");
  const [, scorer = ""] =
    /```ts\n(import type \{ Scorer \}[^`]*(?:`[^`]+`[^`]*)*?)```/.exec(guide) ?? [];
  expect(scorer).toContain("export default scorer;");
  writeFileSync(join(dir, "score.ts"), scorer);
  writeFileSync(join(dir, "wrong.ts"), scorer.replace("{ expected }", "{ expectd: expected }"));
  writeFileSync(join(dir, "odd.ts"), scorer.replace("pass ? 1 : 0", "String(pass)"));
  const types = Bun.spawn([tsc, "-p", dir, "--pretty", "false"], { stdout: "pipe" });
  const lines = (await types.stdout.text()).split("\n");
  const errorsIn = (file: string) =>
    lines.filter((line) => line.startsWith(`${file}(`) || line.includes(`/team/${file}(`));
  expect(errorsIn("score.ts")).toEqual([]);
  expect(errorsIn("wrong.ts").join()).toContain("Property 'expectd' does not exist");
  expect(errorsIn("odd.ts").join()).toContain("is not assignable to type");
});

test("a new project has Node's types after npm has installed them", async () => {
  const store = new Store();
  const { dir } = await store.json<{ dir: string }>(["new", "my-review"]);
  const types = join(dir, "node_modules/@types/node");
  mkdirSync(types, { recursive: true });
  writeFileSync(join(types, "package.json"), '{"name":"@types/node","types":"index.d.ts"}');
  writeFileSync(
    join(types, "index.d.ts"),
    'declare module "node:os" { export function hostname(): string }',
  );
  const source = 'import { hostname } from "node:os";\nexport const name: string = hostname();\n';
  writeFileSync(join(dir, "name.ts"), source);
  const check = Bun.spawn([tsc, "-p", dir], { stdout: "pipe" });
  expect(await check.stdout.text()).toBe("");
});

test("a new project is written with the user's own umask, even into an empty folder", async () => {
  const store = new Store();
  const dir = join(store.folder, "mine");
  mkdirSync(dir);
  const args = [...programWords, "new", dir, "--name", "other"];
  const child = Bun.spawn(["/bin/sh", "-c", 'umask 027 && exec "$@"', "sh", ...args], {
    env: store.env,
    stdout: "ignore",
    stderr: "ignore",
  });
  expect(await child.exited).toBe(0);
  expect(statSync(join(dir, "workflow.ts")).mode & 0o777).toBe(0o640);
  expect(readFileSync(join(dir, "README.md"), "utf8")).toContain("uncaged-workflow run other");
});

test("build writes the bundle and its map, and prints the same hash as add", async () => {
  const store = new Store();
  const folder = newFolder();
  writeFileSync(
    join(folder, "flow.ts"),
    `export const descriptor = { description: "typed", roles: {} };
     export async function* run(): AsyncGenerator<never, { returnCode: number; summary: string }> {
       return { returnCode: 0, summary: "built" };
     }`,
  );
  const here = { cwd: folder };
  const built = await store.json<{ path: string; hash: string }>(["build", "flow.ts"], here);
  expect(readdirSync(folder).sort()).toEqual(["flow.esm.js", "flow.map", "flow.ts"]);
  expect(built.path).toBe(join(folder, "flow.esm.js"));
  expect(await store.ok(["build", "flow.ts", "-o", "b.esm.js"], here)).toBe(
    `${join(folder, "b.esm.js")}\n${built.hash}`,
  );
  expect(await store.ok(["add", "flow", "flow.ts"], here)).toBe(built.hash);
  expect(await store.ok(["add", "flow", "b.esm.js"], here)).toBe(built.hash);
});

test("a source that does not build names the file, the line and the column", async () => {
  const store = new Store();
  const source = join(store.folder, "bad.ts");
  writeFileSync(source, "export const a = 1;\nexport const b = = 2;\n");
  const { code, stderr } = await store.run(["build", source]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/error: \S*bad\.ts:2:\d+: /);
});

test("add keeps the types, and an older version can become current again", async () => {
  const store = new Store();
  const types = join(store.folder, "play.d.ts");
  writeFileSync(types, "export {};\n");
  const hash = await store.ok(["add", "play", playBundle, "--types", types]);
  expect(readFileSync(join(store.root, "bundles", `${hash}.d.ts`), "utf8")).toBe("export {};\n");
  const changed = join(store.folder, "next.esm.js");
  writeFileSync(changed, `${readFileSync(playBundle, "utf8")}\n// next\n`);
  const next = await store.ok(["add", "play", changed]);
  const history = await store.ok(["history", "play"]);
  expect(history).toMatch(new RegExp(`\\* +${next} .*\n +${hash} `));
  expect(await store.ok(["rollback", "play"])).toBe(`play is now at ${hash}; it was at ${next}`);
  expect(await store.ok(["rollback", "play", next.slice(0, 6)])).toContain(`now at ${next}`);
  expect(await store.ok(["list", "-q"])).toBe("play");
  expect(await store.ok(["show", "play"])).toContain("planner  Yields the first step");
  expect(await store.ok(["remove", "play"])).toContain("removed play");
});
