import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
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
import { pack } from "../scripts/pack.ts";
import { top } from "./source.ts";

/*
 * The packages as a stranger gets them: the tarballs, installed by npm into an empty folder, with
 * an empty home, and a PATH on which there is no Bun. The agents go into a folder of their own.
 */
const folder = mkdtempSync(join(tmpdir(), "uncaged pack "));
const command = join(folder, "node_modules/.bin/uncaged-workflow");
const bare = join(folder, "bare");
const withAgents = join(folder, "agents");

const bundle = `export const descriptor = {
  description: "Greets.",
  roles: { greeter: { description: "says hello", schema: { type: "object" } } },
};
export async function* run({ prompt }) {
  yield { role: "greeter", content: "hello " + prompt, meta: {} };
  return { returnCode: 0, summary: "greeted" };
}
`;

const consumer = `import { createRoleModerator, END, type WorkflowFn } from "@uncaged/workflow";
import { WorkflowError } from "@uncaged/workflow/host";
import * as testing from "@uncaged/workflow/testing";

type Meta = { planner: { files: string[] } };
export const run: WorkflowFn = createRoleModerator<Meta>({
  roles: { planner: async () => ({ content: "plan", meta: { files: [] } }) },
  moderator: (ctx) => (ctx.steps.length === 0 ? "planner" : END),
});
export const failed = (error: unknown): boolean => error instanceof WorkflowError;
export { testing };
`;

const roles = `import { createRoleModerator, END } from "@uncaged/workflow";
import { describe, role, scriptedAgent } from "@uncaged/workflow-agents";
import { z } from "zod";

const planner = role({
  description: "Plans",
  agent: scriptedAgent({ "You plan": '{"files":["a.ts"]}' }),
  systemPrompt: "You plan.",
  schema: z.object({ files: z.array(z.string()) }),
});
export const descriptor = describe("Plans", { planner });
export const run = createRoleModerator({
  roles: { planner },
  moderator: ({ steps }) => (steps.at(-1)?.meta.files.includes("a.ts") ? END : "planner"),
});
`;

const reader = `import { readThread, type Root } from "@uncaged/workflow/host";
import { type Ledger, ledgerOf } from "@uncaged/workflow-agents/ledger";
export const costOf = async (root: Root, hash: string, threadId: string): Promise<number> => {
  const { steps } = await readThread(root, { hash, threadId });
  const { total }: Ledger = ledgerOf(steps);
  return total.cost;
};
`;

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

/** Runs the installed command where there is nothing but a shell. */
const uncaged = (...args: string[]): Done =>
  perform([command, ...args], {
    PATH: bare,
    HOME: join(folder, "home"),
    UNCAGED_WORKFLOW_STORAGE_ROOT: join(folder, "root"),
    UNCAGED_WORKFLOW_IDLE_MS: "100",
  });

/** The same command where the agents are installed. */
const uncagedWithAgents = (...args: string[]): Done =>
  perform(
    [join(withAgents, "node_modules/.bin/uncaged-workflow"), ...args],
    {
      PATH: bare,
      HOME: join(folder, "home"),
      UNCAGED_WORKFLOW_STORAGE_ROOT: join(folder, "root"),
      UNCAGED_WORKFLOW_IDLE_MS: "100",
    },
    withAgents,
  );

const installed = (name: string) => join(folder, "node_modules", name);

beforeAll(async () => {
  const [core, cli, agents] = await pack();
  for (const name of ["home", "bare", "agents"]) mkdirSync(join(folder, name));
  for (const name of ["sh", "readlink"]) symlinkSync(Bun.which(name) ?? name, join(bare, name));
  install(folder, [core, cli]);
  install(withAgents, [core, cli, agents]);
}, 300_000);

function install(prefix: string, tarballs: string[]): void {
  writeFileSync(join(prefix, "package.json"), "{}");
  const args = ["install", "--prefer-offline", "--no-audit", "--no-fund", "--prefix", prefix];
  const { code, stderr } = perform(["npm", ...args, ...tarballs], {
    ...process.env,
    HOME: join(folder, "home"),
    npm_config_cache: join(top, ".cache/npm"),
  });
  if (code !== 0) throw new Error(stderr);
}

afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));

describe("the published packages", () => {
  const names = ["@uncaged/workflow", "@uncaged/cli-workflow"];

  test.each(names)("%s names no workspace, no source and no missing file", (name) => {
    const text = readFileSync(join(installed(name), "package.json"), "utf8");
    expect(text).not.toMatch(/workspace:|(?<!\.d)\.ts"|"private"/);
    const paths = [...text.matchAll(/"(\.\/[^"]+)"(?!:)/g)].map((match) => match[1] ?? "");
    expect(paths.filter((path) => !existsSync(join(installed(name), path)))).toEqual([]);
    expect(readdirSync(installed(name))).toContain("LICENSE");
  });

  test("bring Bun and nothing else along", () => {
    const strangers = readdirSync(join(folder, "node_modules")).filter(
      (name) => !name.startsWith(".") && !["@uncaged", "@oven", "bun"].includes(name),
    );
    expect(strangers).toEqual([]);
  });
});

describe("the installed command", () => {
  const added = { code: 0, stdout: expect.stringMatching(/^[0-9A-HJKMNP-TV-Z]{13}\n$/) };

  test("shows its help", () => {
    const { code, stdout, stderr } = uncaged("--help");
    expect(stderr).toBe("");
    expect(stdout).toContain("rollback");
    expect(code).toBe(0);
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

  test("builds a TypeScript source", () => {
    const source = consumer.replaceAll(/.*(host|testing|failed).*\n/g, "");
    const descriptor = `export const descriptor = { description: "Plans.", roles: {
      planner: { description: "plans", schema: true } } };\n`;
    writeFileSync(join(folder, "plan.ts"), source + descriptor);
    expect(uncaged("add", "plan", "plan.ts")).toMatchObject(added);
  });

  test("finds its Bun where npm ran no install scripts", () => {
    const exe = join(installed("bun"), "bin/bun.exe");
    const apart = join(installed("@oven"), "bun-here/bin");
    mkdirSync(apart, { recursive: true });
    renameSync(exe, join(apart, "bun"));
    writeFileSync(exe, `echo "Error: Bun's postinstall script was not run." >&2\nexit 1\n`, {
      mode: 0o755,
    });
    expect(uncaged("--version")).toMatchObject({ code: 0, stderr: "" });
  });

  test("says so in one line where there is no Bun at all", () => {
    for (const name of ["bun", "@oven"]) rmSync(installed(name), { recursive: true });
    const { code, stdout, stderr } = uncaged("--version");
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^uncaged-workflow: Bun is missing: .*\n$/);
  });
});

describe("the agents, installed beside it", () => {
  test("are published like the others", () => {
    const installedAgents = join(withAgents, "node_modules/@uncaged/workflow-agents");
    const text = readFileSync(join(installedAgents, "package.json"), "utf8");
    expect(text).not.toMatch(/workspace:|(?<!\.d)\.ts"|"private"|claude-code/);
    expect(readdirSync(installedAgents).sort()).toEqual([
      ...["LICENSE", "README.md", "dist", "package.json"],
    ]);
  });

  test("are built into a bundle that holds only what it uses, and run", () => {
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
])("a consumer's types hold with the module resolution %s", (moduleResolution, module) => {
  for (const [name, text] of Object.entries({ consumer, roles, reader })) {
    writeFileSync(join(withAgents, `${name}.mts`), text);
  }
  const compilerOptions = { strict: true, noEmit: true, target: "esnext", types: [] };
  const settings = { compilerOptions: { ...compilerOptions, module, moduleResolution } };
  const files = ["consumer.mts", "roles.mts", "reader.mts"];
  writeFileSync(join(withAgents, "tsconfig.json"), JSON.stringify({ ...settings, files }));
  const tsc = join(top, "node_modules/.bin/tsc");
  const { code, stdout } = perform([tsc, "-p", withAgents], process.env);
  expect(stdout).toBe("");
  expect(code).toBe(0);
});
