import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { type Packed, pack } from "../scripts/pack.ts";
import {
  asking,
  bundle,
  consumer,
  drawing,
  embedding,
  flow,
  graph,
  plan,
  reader,
  roles,
} from "./packed-sources.ts";
import { npmInstall } from "./packed.ts";
import { top } from "./source.ts";
import { Dev } from "../packages/cli-workflow/test/dev.ts";

/*
 * Tests the packages as a new user gets them: npm installs the tarballs into an empty folder, with an empty home and a
 * PATH without Bun. Tests that remove Bun use a separate folder.
 */
const folder = mkdtempSync(join(tmpdir(), "uncaged pack "));
const command = join(folder, "node_modules/.bin/uncaged-workflow");
const bare = join(folder, "bare");
const withAgents = join(folder, "agents");

/** Output of `serve --json`. */
type Served = { url: string; token: string };

type Done = { code: number; stdout: string; stderr: string };

function perform(
  argv: string[],
  env: Record<string, string | undefined>,
  cwd: string = folder,
): Done {
  const done = Bun.spawnSync(argv, { cwd, env, stdin: "ignore" });
  const [stdout, stderr] = [done.stdout.toString(), done.stderr.toString()];
  return { code: done.exitCode, stdout, stderr };
}

const environment = {
  PATH: bare,
  HOME: join(folder, "home"),
  UNCAGED_WORKFLOW_STORAGE_ROOT: join(folder, "root"),
  UNCAGED_WORKFLOW_IDLE_MS: "100",
};

/** Runs the installed command with only a shell in its environment. */
const uncaged = (...args: string[]): Done => perform([command, ...args], environment);

/** Runs the command of an installation that also has the agents. */
const uncagedWithAgents = (...args: string[]): Done =>
  perform(
    [join(withAgents, "node_modules/.bin/uncaged-workflow"), ...args],
    environment,
    withAgents,
  );

const installed = (name: string) => join(folder, "node_modules", name);

let packed: Packed;

beforeAll(async () => {
  packed = await pack();
  const tarballs = Object.values(packed);
  for (const name of ["bare", "agents"]) mkdirSync(join(folder, name));
  for (const name of ["sh", "readlink"]) symlinkSync(Bun.which(name) ?? name, join(bare, name));
  npmInstall(folder, join(folder, "home"), tarballs);
  for (const name of ["package.json", "node_modules"]) {
    const [from, to] = [join(folder, name), join(withAgents, name)];
    cpSync(from, to, { recursive: true, verbatimSymlinks: true });
  }
}, 300_000);

afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));

describe("the published packages", () => {
  const names = [
    "workflow",
    "cli-workflow",
    "workflow-agents",
    "workflow-evals",
    "workflow-graph",
    "workflow-plan",
    "workflow-steps",
  ].map((name) => `@uncaged/${name}`);

  test.each(names)("%s refers to no workspace, no source and no missing file", (name) => {
    const text = readFileSync(join(installed(name), "package.json"), "utf8");
    expect(text).not.toMatch(/workspace:|(?<!\.d)\.ts"|"private"/);
    const paths = [...text.matchAll(/"(\.\/[^"]+)"(?!:)/g)].map((match) => match[1] ?? "");
    expect(paths.filter((path) => !existsSync(join(installed(name), path)))).toEqual([]);
    expect(readdirSync(installed(name))).toContain("LICENSE");
  });

  test("depend on Bun: the command carries the packages from which bundles are built", () => {
    const dependencies = (name: string) => {
      const text = readFileSync(join(installed(`@uncaged/${name}`), "package.json"), "utf8");
      return Object.keys((JSON.parse(text) as { dependencies: object }).dependencies).sort();
    };
    expect(dependencies("workflow")).toEqual(["bun"]);
    expect(dependencies("cli-workflow")).toEqual(["bun"]);
    expect(dependencies("workflow-steps")).toContain("@uncaged/workflow-agents");
    expect(readdirSync(installed("@uncaged")).sort()).toEqual([
      ...["cli-workflow", "workflow", "workflow-agents", "workflow-evals", "workflow-graph"],
      ...["workflow-plan", "workflow-steps"],
    ]);
  });
});

describe("the exports and types", () => {
  const libraries = ["core", "agents", "steps", "graph", "plan", "evals"] as const;
  const bytesOf = (name: keyof Packed) => new Uint8Array(readFileSync(packed[name]));

  test.each([...libraries, "cli", "alias"] as const)("of %s have no problems", async (name) => {
    const { messages } = await publint({ pack: { tarball: bytesOf(name).buffer }, strict: true });
    expect(messages).toEqual([]);
  });

  test.each(libraries)("of %s resolve at each entry point", async (name) => {
    const analysis = await checkPackage(createPackageFromTarballData(bytesOf(name)));
    if (!analysis.types) throw new Error("no types");
    // The packages have only ES modules, so `require` must use `import()`; TypeScript 4 does not read `exports`.
    const problems = analysis.problems.filter(
      (problem) =>
        problem.kind !== "CJSResolvesToESM" &&
        !("resolutionKind" in problem && problem.resolutionKind === "node10"),
    );
    expect(problems).toEqual([]);
  });
});

describe("the installed command", () => {
  test("has WhatsApp's client as an optional peer dependency", () => {
    const text = readFileSync(join(installed("@uncaged/cli-workflow"), "package.json"), "utf8");
    const { peerDependencies, peerDependenciesMeta } = JSON.parse(text) as Record<string, object>;
    expect(Object.keys(peerDependencies ?? {})).toEqual(["baileys"]);
    expect(peerDependenciesMeta).toEqual({ baileys: { optional: true } });
    expect(existsSync(installed("baileys"))).toBe(false);
  });

  const added = { code: 0, stdout: expect.stringMatching(/^[0-9A-HJKMNP-TV-Z]{13}\n$/) };

  test("prints its help", () => {
    const { code, stdout, stderr } = uncaged("--help");
    expect(stderr).toBe("");
    expect(stdout).toContain("rollback");
    expect(code).toBe(0);
  });

  test("has a manual page", () => {
    const page = readFileSync(
      join(installed("@uncaged/cli-workflow"), "man/uncaged-workflow.1"),
      "utf8",
    );
    expect(page).toStartWith(".TH UNCAGED-WORKFLOW 1 ");
    expect(page).toContain("\\fBrollback\\fR");
  });

  test("adds a bundle and runs a thread of it", () => {
    writeFileSync(join(folder, "greet.esm.js"), bundle);
    expect(uncaged("add", "greet", "greet.esm.js")).toMatchObject(added);
    const { code, stdout, stderr } = uncaged("run", "greet", "--prompt", "you", "--wait", "--json");
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toMatchObject({
      workflow: "greet",
      status: "completed",
      result: { returnCode: 0, summary: "greeted" },
    });
    expect(code).toBe(0);
  });

  test("serves the console and the API", async () => {
    const serve = Bun.spawn([command, "serve", "--port", "0", "--json"], {
      cwd: folder,
      env: environment,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "inherit",
    });
    const { value } = await serve.stdout.getReader().read();
    const { url, token } = JSON.parse(new TextDecoder().decode(value)) as Served;
    const { origin } = new URL(url);
    const ask = (path: string) =>
      fetch(origin + path, { headers: { Authorization: `Bearer ${token}` } });
    const page = await (await ask("/")).text();
    const [, script = "none"] = /<script[^>]*src="(\/assets\/[^"]+)"/.exec(page) ?? [];
    expect((await ask(script)).headers.get("content-type")).toStartWith("text/javascript");
    expect(await (await ask("/api/workflows")).json()).toMatchObject([{ name: "greet" }]);
    serve.kill("SIGINT");
    expect(await serve.exited).toBe(0);
  });

  test("builds a TypeScript source", () => {
    const source = consumer.replaceAll(/.*(host|testing|failed).*\n/g, "");
    const descriptor = `export const descriptor = { description: "Plans.", roles: {
      planner: { description: "plans", schema: true } } };\n`;
    writeFileSync(join(folder, "plan.ts"), source + descriptor);
    expect(uncaged("add", "plan", "plan.ts")).toMatchObject(added);
  });

  test("runs a source without a name, and runs it again at each save", async () => {
    writeFileSync(join(folder, "loop.ts"), bundle);
    const { stdout } = uncaged("run", "loop.ts", "--prompt", "you", "--wait", "--json");
    expect(JSON.parse(stdout)).toMatchObject({
      workflow: "loop.ts",
      result: { summary: "greeted" },
    });
    const words = [command, "dev", "loop.ts", "--prompt", "you", "--json"];
    const options = { cwd: folder, env: environment, stdout: "pipe", stderr: "pipe" } as const;
    const dev = new Dev(Bun.spawn(words, options), join(folder, "loop.ts"));
    expect(await dev.steps()).toEqual(["greeter: hello you"]);
    dev.edit('"hello "', '"welcome "');
    expect(await dev.next("thread")).toMatchObject({ changed: "greeter", forkFrom: { steps: 0 } });
    expect(await dev.steps()).toEqual(["greeter: welcome you"]);
    expect(await dev.end()).toBe(0);
  });

  test("adds a step workflow and runs a thread of it", () => {
    writeFileSync(join(folder, "flow.json"), JSON.stringify(flow));
    expect(uncaged("add", "count", "flow.json")).toMatchObject(added);
    expect(uncaged("run", "count", "--wait")).toMatchObject({ code: 0 });
    expect(readFileSync(join(folder, "text.txt"), "utf8")).toBe("ab");
    const rerun = ["rerun", "@last", "--from-step", "Write_Text", "--set", "$text=c", "--wait"];
    expect(uncaged(...rerun)).toMatchObject({ code: 0 });
    expect(readFileSync(join(folder, "text.txt"), "utf8")).toBe("c");
    const { stdout } = uncaged("thread", "@last", "--checkpoint");
    expect(JSON.parse(stdout)).toMatchObject({ status: "stopped", variables: { $text: "c" } });
  });

  test("adds an agent graph and runs a thread of it", () => {
    writeFileSync(join(folder, "graph.json"), JSON.stringify(graph));
    expect(uncaged("add", "drawn", "graph.json")).toMatchObject(added);
    const { stdout } = uncaged("run", "drawn", "--prompt", "yes", "--wait", "--json");
    expect(JSON.parse(stdout)).toMatchObject({ status: "completed", result: { summary: "yes" } });
  });

  test("adds a plan, whose run names the missing agent", () => {
    writeFileSync(join(folder, "plan.json"), JSON.stringify(plan));
    expect(uncaged("add", "planned", "plan.json")).toMatchObject(added);
    const { stdout } = uncaged("run", "planned", "--wait", "--json");
    const summary = 'step only failed: the command "claude" is not found';
    expect(JSON.parse(stdout)).toMatchObject({ status: "failed", result: { summary } });
  });

  test("builds a step workflow to the same bytes wherever it is installed", () => {
    const text = JSON.stringify({ ...flow, steps: [...flow.steps.slice(0, 2), ...asking.steps] });
    const joined = text.replace('"next":"Write_Text"', '"next":"LLM_Ask"');
    const hashes = [uncaged, uncagedWithAgents].map((run, at) => {
      const source = join(at === 0 ? folder : withAgents, "same.json");
      writeFileSync(source, joined);
      const { code, stdout } = run("build", source, "--out", "same.esm.js", "--json");
      expect(code).toBe(0);
      return (JSON.parse(stdout) as { hash: string }).hash;
    });
    expect([...new Set(hashes)]).toEqual([hashes[0] ?? ""]);
  });

  test("builds only the used models into a step workflow", () => {
    const built = (document: object): string => {
      writeFileSync(join(folder, "some.json"), JSON.stringify(document));
      expect(uncaged("build", "some.json", "--out", "some.esm.js").code).toBe(0);
      return readFileSync(join(folder, "some.esm.js"), "utf8");
    };
    expect(built(flow)).not.toMatch(/ANTHROPIC_API_KEY|OPENAI_API_KEY/);
    const text = built(asking);
    expect(text).toContain("ANTHROPIC_API_KEY");
    expect(text).not.toContain("OPENAI_API_KEY");
  });

  test("creates a project of a step workflow with its schema", () => {
    expect(uncaged("new", "flow", "--template", "steps")).toMatchObject({ code: 0 });
    const { $schema } = JSON.parse(readFileSync(join(folder, "flow/flow.json"), "utf8")) as {
      $schema: string;
    };
    expect(readFileSync(join(folder, "flow", $schema), "utf8")).toContain("2020-12");
    expect(uncaged("add", "flow", "flow/flow.json")).toMatchObject(added);
  });

  test("finds Bun when npm ran no install scripts", () => {
    const exe = join(installed("bun"), "bin/bun.exe");
    const apart = join(installed("@oven"), "bun-here/bin");
    mkdirSync(apart, { recursive: true });
    renameSync(exe, join(apart, "bun"));
    writeFileSync(exe, `echo "Error: Bun's postinstall script was not run." >&2\nexit 1\n`, {
      mode: 0o755,
    });
    expect(uncaged("--version")).toMatchObject({ code: 0, stderr: "" });
  });

  test("reports a missing Bun in one line", () => {
    for (const name of ["bun", "@oven"]) rmSync(installed(name), { recursive: true });
    const { code, stdout, stderr } = uncaged("--version");
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^uncaged-workflow: Bun is missing: .*\n$/);
  });
});

describe("the agents, installed beside the command", () => {
  test("are published like the other packages", () => {
    const installedAgents = join(withAgents, "node_modules/@uncaged/workflow-agents");
    const text = readFileSync(join(installedAgents, "package.json"), "utf8");
    expect(text).not.toMatch(/workspace:|(?<!\.d)\.ts"|"private"|claude-code/);
    expect(readdirSync(installedAgents).sort()).toEqual([
      ...["LICENSE", "README.md", "dist", "package.json"],
    ]);
  });

  test("work in a bundle, which contains only used code", () => {
    writeFileSync(join(withAgents, "plan.ts"), roles);
    const { code, stderr } = uncagedWithAgents("build", "plan.ts", "--out", "plan.esm.js");
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.any(String) });
    const built = readFileSync(join(withAgents, "plan.esm.js"), "utf8");
    for (const unused of ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "node:child_process"]) {
      expect(built).not.toContain(unused);
    }
    expect(uncagedWithAgents("add", "plan", "plan.esm.js").code).toBe(0);
    const done = uncagedWithAgents("run", "plan", "--wait", "--json");
    expect(done).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(done.stdout)).toMatchObject({ status: "completed" });
  });
});

test.each([
  ["bundler", "preserve"],
  ["node16", "node16"],
])("a consumer of the types compiles with the module resolution %s", (moduleResolution, module) => {
  for (const [name, text] of Object.entries({ consumer, roles, reader, drawing, embedding })) {
    writeFileSync(join(withAgents, `${name}.mts`), text);
  }
  const compilerOptions = { strict: true, noEmit: true, target: "esnext", types: [] };
  const settings = { compilerOptions: { ...compilerOptions, module, moduleResolution } };
  const files = ["consumer", "roles", "reader", "drawing", "embedding"].map(
    (name) => `${name}.mts`,
  );
  writeFileSync(join(withAgents, "tsconfig.json"), JSON.stringify({ ...settings, files }));
  const tsc = join(top, "node_modules/.bin/tsc");
  const { code, stdout } = perform([tsc, "-p", withAgents], process.env);
  expect(stdout).toBe("");
  expect(code).toBe(0);
});
