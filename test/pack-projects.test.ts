import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installCommand, pack, packStandalone } from "../scripts/pack.ts";
import { isWhole, some } from "../packages/workflow/test/fixtures/cases.ts";
import { LocalRegistry } from "./local-registry.ts";
import { top } from "./source.ts";

/*
 * Creates a project of each template with each kind of installation. npm must install and keep the dependencies in the
 * project's manifest, and the project's scripts must pass. npm uses no network.
 */
setDefaultTimeout(180_000);

const folder = mkdtempSync(join(tmpdir(), "uncaged projects "));
const registries: LocalRegistry[] = [];
const checkout = join(top, "node_modules/.bin/uncaged-workflow");

type Way = "checkout" | "tarballs" | "registry" | "binary";
/** The program of each kind of installation, and the registry for its projects. */
const programs: Partial<Record<Way, { program: string; registry: LocalRegistry }>> = {};
// Every run includes the tarballs, because the npm init project below needs them.
const ways = some(["checkout", "tarballs", "registry", "binary"] as const);

afterAll(async () => {
  for (const registry of registries) await registry.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

async function perform(argv: string[], cwd: string, registry: LocalRegistry) {
  const env = {
    PATH: process.env.PATH,
    HOME: join(folder, "home"),
    TMPDIR: process.env.TMPDIR,
    UNCAGED_WORKFLOW_IDLE_MS: "100",
    ...{ npm_config_cache: join(folder, "cache"), npm_config_registry: registry.url },
    ...{ npm_config_audit: "false", npm_config_fund: "false", npm_config_yes: "false" },
    ...{ npm_config_update_notifier: "false", BUN_CONFIG_REGISTRY: registry.url },
    BUN_INSTALL_CACHE_DIR: join(folder, "cache of bun"),
  };
  // This process serves the registry, so the command must run beside it.
  const streams = { stdin: "ignore", stdout: "pipe", stderr: "pipe" } as const;
  const child = Bun.spawn(argv, { cwd, env, ...streams });
  const [code, ...output] = await Promise.all([
    child.exited,
    child.stdout.text(),
    child.stderr.text(),
  ]);
  return { code, output: output.join("") };
}

const passes = { code: 0, output: expect.any(String) };

function newRegistry(tarballs: readonly string[] = []): LocalRegistry {
  const registry = new LocalRegistry(join(folder, `registry ${registries.length}`), tarballs);
  registries.push(registry);
  return registry;
}

/** Installs the packages of this repository into a folder by a command, and returns the program. */
async function installed(
  name: string,
  commandIn: (folder: string) => string,
  registry: LocalRegistry,
) {
  const home = join(folder, name);
  mkdirSync(home);
  writeFileSync(join(home, "package.json"), "{}");
  expect(await perform(["sh", "-c", commandIn(home)], home, registry)).toEqual(passes);
  return join(home, "node_modules/.bin/uncaged-workflow");
}

beforeAll(async () => {
  mkdirSync(join(folder, "home"));
  const tarballs = Object.values(await pack());
  const others = newRegistry();
  programs.checkout = { program: checkout, registry: others };
  programs.tarballs = {
    program: await installed("tarballs", (home) => installCommand(tarballs, home), others),
    registry: others,
  };
  if (!isWhole) return;
  const registry = newRegistry(tarballs);
  const program = await installed("published", () => "npm install uncaged-workflow", registry);
  programs.registry = { program, registry };
  programs.binary = { program: await packStandalone(), registry: others };
});

const templates = [
  { template: "agents", code: 6 },
  { template: "typescript", code: 0 },
  { template: "steps", code: 0 },
  { template: "graph", code: 6 },
];

/** Returns the packages of this repository in a project's `node_modules`. */
const ours = (project: string): string[] =>
  readdirSync(join(project, "node_modules/@uncaged")).toSorted();

describe.each(ways.map((way) => ({ way })))("a project of a program from $way", ({ way }) => {
  test.each(some(templates))("$template", async ({ template, code }) => {
    const { program, registry } = programs[way] as { program: string; registry: LocalRegistry };
    const project = join(folder, `${way} my ${template}`);
    const run = (...argv: string[]) => perform(argv, project, registry);
    const words = ["new", project, "--name", "it", "--template", template];
    expect(await perform([program, ...words], folder, registry)).toEqual(passes);
    expect(await run("npm", "install")).toEqual(passes);
    const before = ours(project);
    expect(before).toContain("workflow");
    expect(await run("npm", "install", "ms")).toEqual(passes);
    expect(ours(project)).toEqual(before);
    expect(await run("npm", "run", "types")).toEqual(passes);
    expect(await run("npm", "test")).toEqual({
      code: 0,
      output: expect.stringContaining(" 0 fail"),
    });
    const own = join(project, "node_modules/.bin/uncaged-workflow");
    expect(existsSync(own)).toBe(true);
    // A binary is the command itself. In other projects, npm installs the command.
    const command = way === "binary" ? program : own;
    expect(await run(command, "add")).toEqual(passes);
    const prompt = ["--prompt", "apples, pears"];
    expect(await run(command, "run", "it", ...prompt, "--wait")).toMatchObject({ code });
  });
});

test("a project of npm init whose manifest lists the tarballs installs no package twice", async () => {
  const { program, registry } = programs.tarballs as { program: string; registry: LocalRegistry };
  const project = join(program, "../../..");
  expect(await perform([program, "new", ".", "--name", "it"], project, registry)).toEqual(passes);
  for (const words of [["install"], ["run", "types"], ["test"]]) {
    expect(await perform(["npm", ...words], project, registry)).toEqual(passes);
  }
});

test.skipIf(!isWhole)("bun installs the packages of a checkout and of a binary too", async () => {
  for (const way of ["checkout", "binary"] as const) {
    const { program, registry } = programs[way] as { program: string; registry: LocalRegistry };
    const project = join(folder, `${way} with bun`);
    mkdirSync(join(project, "src"), { recursive: true });
    const compilerOptions = { outDir: "out", rootDir: ".", module: "nodenext", types: [] };
    const files = {
      "package.json": JSON.stringify({ name: "mine", dependencies: { ms: "*" } }),
      "tsconfig.json": JSON.stringify({ compilerOptions, include: ["src"] }),
      "src/a.ts": "export const a = 1;\n",
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(project, name), text);
    const run = (...argv: string[]) => perform(argv, project, registry);
    expect(await run(process.execPath, "install")).toEqual(passes);
    expect(lstatSync(join(project, "bun.lock")).isFile()).toBe(true);
    expect(await run(program, "new", ".", "--name", "it", "--template", "agents")).toEqual(passes);
    expect(await run(process.execPath, "install")).toEqual(passes);
    expect(await run("npm", "run", "types")).toEqual(passes);
    expect(await run("npm", "test")).toEqual(passes);
    expect(await run(program, "add")).toEqual(passes);
    const written = readdirSync(project).filter((name) => name.endsWith(".js"));
    expect(written).toEqual([]);
    expect(readFileSync(join(project, "tsconfig.json"), "utf8")).toBe(files["tsconfig.json"]);
  }
});
