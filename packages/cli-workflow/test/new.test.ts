import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { command } from "./command.ts";
import { Projects } from "./projects.ts";
import { removeFolders } from "./program.ts";
import { agentFlow } from "../../workflow-graph/test/exports.ts";
import { some } from "../../workflow/test/fixtures/cases.ts";

afterAll(removeFolders);
// Most tests start npx or tsc.
setDefaultTimeout(180_000);

const tsc = join(import.meta.dir, "../../../node_modules/.bin/tsc");

type Manifest = Record<"dependencies" | "devDependencies" | "scripts", Record<string, string>>;
type Made = { name: string; dir: string; files: string[]; changed: string[]; command: string };

/** Environment in which npx uses only the packages in `node_modules`. */
const offline = { npm_config_offline: "true", npm_config_update_notifier: "false" };

/** Returns the next command that `new` prints. */
const nextOf = (stderr: string): string => /^next: (.*)$/m.exec(stderr)?.[1] ?? "";

async function sh(line: string, cwd: string, env: Record<string, string>) {
  const child = Bun.spawn(["/bin/sh", "-c", line], { cwd, env, stdout: "pipe", stderr: "pipe" });
  const [code, stdout, stderr] = [await child.exited, child.stdout.text(), child.stderr.text()];
  return { code, stdout: await stdout, stderr: await stderr };
}

describe("the next command that `new` prints", () => {
  for (const template of some(["typescript", "agents", "steps"], 0, 1)) {
    test(`works unchanged if the PATH does not contain the program: ${template}`, async () => {
      const store = new Projects();
      const { stderr } = await store.run([
        "new",
        "my flow",
        "--name",
        "it",
        "--template",
        template,
      ]);
      const next = nextOf(stderr);
      expect(next).toStartWith("cd 'my flow' && npx uncaged-workflow add && ");
      const { code, stdout } = await sh(next, store.folder, { ...store.env, ...offline });
      // The agents template requests an approval before a write.
      const rest =
        template === "agents" ? { code: 6, said: "waiting: " } : { code: 0, said: "completed: " };
      expect({ code, stdout }).toEqual({
        code: rest.code,
        stdout: expect.stringContaining(rest.said),
      });
      const root = join(store.folder, "my flow/.uncaged");
      expect(existsSync(join(root, "workflow.yaml"))).toBe(true);
      const readme = readFileSync(join(store.folder, "my flow/README.md"), "utf8");
      expect(readme).toContain("npx uncaged-workflow run it");
    });
  }

  test("calls the program by its name if the PATH contains it", async () => {
    const store = new Projects();
    const bin = join(store.folder, "bin");
    mkdirSync(bin);
    symlinkSync(command, join(bin, "uncaged-workflow"));
    const env = { PATH: `${bin}:${store.env.PATH}` };
    const { stderr } = await store.run(["new", "mine"], { env });
    expect(nextOf(stderr)).toStartWith("cd mine && uncaged-workflow add && uncaged-workflow run ");
  });

  test("calls the program by its path if npx is missing", async () => {
    const store = new Projects();
    const made = await store.json<Made>(["new", "mine"], { env: { PATH: "/none" } });
    expect(made.command).toBe(command);
  });
});

describe("`new` in a folder with files", () => {
  function folderWith(files: Record<string, string>) {
    const store = new Projects();
    const cwd = join(store.folder, "mine");
    mkdirSync(cwd);
    for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text);
    const read = (name: string) => readFileSync(join(cwd, name), "utf8");
    return { cwd, read, env: store.env, ...store.at(cwd) };
  }

  test("adds entries to package.json and .gitignore, and keeps their other content", async () => {
    const manifest = `{\n\t"name": "app",\n\t"scripts": { "types": "mine" },\n\t"devDependencies": { "typescript": "5" }\n}\n`;
    const files = { "package.json": manifest, ".gitignore": "dist\nnode_modules/", "app.ts": "" };
    const { read, json, ok } = folderWith({ ...files, "README.md": "mine" });
    const made = await json<Made>("new", ".");
    expect(made.changed.sort()).toEqual([".gitignore", "package.json"]);
    const own = ["AGENTS.md", "tsconfig.json", "uncaged.json", "workflow.test.ts", "workflow.ts"];
    expect(made.files.sort()).toEqual(own);
    expect(read("README.md")).toBe("mine");
    expect(read(".gitignore")).toBe("dist\nnode_modules/\n.uncaged/\n.env\n*.esm.js\n*.map\n");
    expect(read("package.json")).toContain('\n\t"scripts": {\n\t\t"types": "mine"');
    expect(JSON.parse(read("package.json"))).toMatchObject({
      devDependencies: { typescript: "5", "@types/node": "^24.0.0" },
    });
    await ok("add");
  });

  test("adds a separate TypeScript configuration if tsconfig.json exists", async () => {
    const own = '{"compilerOptions":{"outDir":"out","module":"nodenext"}}';
    const { read, json } = folderWith({ "package.json": "{}", "tsconfig.json": own });
    await json<Made>("new", ".", "--template", "agents");
    expect(read("tsconfig.json")).toBe(own);
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
    expect(scripts.types).toBe("tsc -p tsconfig.workflow.json");
    expect(JSON.parse(read("tsconfig.workflow.json"))).toMatchObject({
      compilerOptions: { noEmit: true },
      include: ["workflow.ts", "model.ts", "tools.ts", "workflow.test.ts"],
    });
  });

  test("in a checkout, lists packages with built declarations, so that tsc checks no source of a package", async () => {
    const settings = { strict: true, noUnusedLocals: true, noUnusedParameters: true, types: [] };
    const compilerOptions = { ...settings, module: "preserve", noEmit: true };
    const own = { compilerOptions: { ...compilerOptions, allowImportingTsExtensions: true } };
    const files = { "package.json": "{}", "tsconfig.json": JSON.stringify(own) };
    const { cwd, read, json, env } = folderWith(files);
    await json<Made>("new", ".");
    rmSync(join(cwd, "workflow.test.ts"));
    const { devDependencies } = JSON.parse(read("package.json")) as Manifest;
    for (const name of ["@uncaged/workflow", "uncaged-workflow"]) {
      const folder = join(cwd, devDependencies[name]?.replace("file:", "") ?? "");
      const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
      expect(manifest).toMatchObject({ name });
      // npm would try to install dependencies, and can't install workspace packages.
      expect(manifest.dependencies).toBeUndefined();
    }
    const checked = await sh(`${tsc} -p . --listFilesOnly`, cwd, env);
    expect(checked.stdout).toMatch(/workflow\.ts\n/);
    expect(checked.stdout).not.toMatch(/packages\/workflow\/src\/.*(?<!\.d)\.ts\n/);
    expect(await sh(`${tsc} -p .`, cwd, env)).toEqual({ code: 0, stdout: "", stderr: "" });
  });

  test("keeps another test runner and adds no test file, but replaces npm's placeholder script", async () => {
    const mine = folderWith({ "package.json": '{"scripts":{"test":"vitest run"}}' });
    const made = await mine.json<Made>("new", ".", "--template", "graph");
    expect(made.files.sort()).toEqual([
      ...[".gitignore", "AGENTS.md", "README.md", "graph.json", "uncaged.json"],
    ]);
    const manifest = JSON.parse(mine.read("package.json")) as Manifest;
    expect(manifest.scripts).toEqual({ test: "vitest run" });
    expect(Object.keys(manifest.devDependencies).filter((name) => name.includes("bun"))).toEqual(
      [],
    );
    const placeholder = { test: 'echo "Error: no test specified" && exit 1' };
    const fresh = folderWith({ "package.json": JSON.stringify({ scripts: placeholder }) });
    expect((await fresh.json<Made>("new", ".")).files).toContain("workflow.test.ts");
    expect(JSON.parse(fresh.read("package.json"))).toMatchObject({ scripts: { test: "bun test" } });
  });

  test("does not list a package that package.json already lists", async () => {
    const dependencies = { "@uncaged/workflow": "file:vendor/it.tgz", typescript: "5" };
    const { read, json } = folderWith({ "package.json": JSON.stringify({ dependencies }) });
    await json<Made>("new", ".");
    const manifest = JSON.parse(read("package.json")) as Manifest;
    expect(manifest).toMatchObject({ dependencies });
    expect(Object.keys(manifest.devDependencies)).not.toContain("@uncaged/workflow");
    expect(Object.keys(manifest.devDependencies)).not.toContain("typescript");
  });

  test("adds a second workflow to a project, and refuses a duplicate name or file", async () => {
    const { read, json, run } = folderWith({ "uncaged.json": '{"env": []}' });
    await json<Made>("new", ".", "--name", "flow", "--template", "steps");
    await json<Made>("new", ".", "--name", "other");
    expect(JSON.parse(read("uncaged.json"))).toEqual({
      ...{ env: [], workflows: { flow: "flow.json", other: "workflow.ts" } },
    });
    expect(await run("new", ".", "--name", "third")).toMatchObject({
      ...{ code: 2, stderr: expect.stringContaining('"workflow.ts" already exists') },
    });
    expect(
      await folderWith({ "uncaged.json": read("uncaged.json") }).run("new", ".", "--name", "flow"),
    ).toMatchObject({
      ...{ code: 2, stderr: expect.stringContaining('already lists a workflow "flow"') },
    });
  });

  test("lists the workflow in package.json if package.json defines the project", async () => {
    const { cwd, read, ok } = folderWith({ "package.json": '{"uncaged": {}}' });
    await ok("new", ".");
    expect(JSON.parse(read("package.json"))).toMatchObject({
      uncaged: { workflows: { mine: "workflow.ts" } },
    });
    expect(existsSync(join(cwd, "uncaged.json"))).toBe(false);
    await ok("add");
  });

  test("writes nothing if package.json is invalid, and refuses a folder without package.json", async () => {
    const { cwd, run } = folderWith({ "package.json": "{,}" });
    expect(await run("new", ".")).toEqual({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/^error: package\.json:1:2: [^\n]+\n$/),
    });
    expect(existsSync(join(cwd, "workflow.ts"))).toBe(false);
    expect((await folderWith({ "notes.txt": "" }).run("new", ".")).code).toBe(2);
  });
});

describe("`new --from`", () => {
  test("creates a graph from an export, and lists the parts that can't be imported", async () => {
    const store = new Projects();
    writeFileSync(join(store.folder, "flow.json"), JSON.stringify(agentFlow));
    const { code, stderr } = await store.run(["new", "mail", "--from", "flow.json"]);
    expect(code).toBe(0);
    expect(stderr).toContain(
      "not imported: flow.json, nodes[6]: Send Email (toolAgentflow): no such node here; the nodes around it are connected",
    );
    const graph = readFileSync(join(store.folder, "mail/graph.json"), "utf8");
    expect(graph).toContain("Mail: {{PREVIOUS_OUTPUT}}");
    expect(existsSync(join(store.folder, "mail/graph.test.ts"))).toBe(false);
    expect(await store.run(["build", "mail/graph.json"])).toMatchObject({ code: 0 });
  });

  test("refuses a file that is not an export in one line, and writes nothing", async () => {
    const store = new Projects();
    writeFileSync(join(store.folder, "flow.json"), JSON.stringify(agentFlow).slice(0, 300));
    const { code, stderr } = await store.run(["new", "mail", "--from", "flow.json"]);
    expect(code).not.toBe(0);
    expect(stderr).toContain("flow.json: invalid JSON: ");
    expect(existsSync(join(store.folder, "mail"))).toBe(false);
  });
});
