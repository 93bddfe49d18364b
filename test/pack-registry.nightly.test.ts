import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pack } from "../scripts/pack.ts";
import { LocalRegistry } from "./local-registry.ts";
import { samplesIn } from "./samples.ts";
import { top } from "./source.ts";

/* Installs the command from a registry with each package manager, and follows the first page of the tutorial. */
setDefaultTimeout(600_000);

const folder = mkdtempSync(join(tmpdir(), "uncaged-registry-"));
let registry: LocalRegistry;
const home = join(folder, "home");

beforeAll(async () => {
  mkdirSync(home);
  registry = new LocalRegistry(join(folder, "registry"), Object.values(await pack()));
});

afterAll(async () => {
  await registry.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

const environment = () => ({
  PATH: process.env.PATH,
  HOME: home,
  UNCAGED_WORKFLOW_IDLE_MS: "100",
  UNCAGED_WORKFLOW_STORAGE_ROOT: join(folder, "root"),
  ...{ npm_config_cache: join(folder, "cache"), npm_config_registry: registry.url },
  ...{ npm_config_audit: "false", npm_config_fund: "false", npm_config_yes: "false" },
  ...{ npm_config_update_notifier: "false", BUN_CONFIG_REGISTRY: registry.url },
  BUN_INSTALL_CACHE_DIR: join(folder, "cache of bun"),
});

/** Runs a command and returns its output. This process serves the registry, so the command runs beside it. */
async function perform(argv: readonly string[], cwd: string): Promise<string> {
  const streams = { stdin: "ignore", stdout: "pipe", stderr: "pipe" } as const;
  const child = Bun.spawn([...argv], { cwd, env: environment(), ...streams });
  const [code, stdout, stderr] = await Promise.all([
    child.exited,
    child.stdout.text(),
    child.stderr.text(),
  ]);
  if (code !== 0) throw new Error(`${argv.join(" ")}: exit code ${code}\n${stdout}${stderr}`);
  return stdout;
}

function emptyProject(name: string): string {
  const project = join(folder, name);
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), "{}");
  writeFileSync(join(project, ".npmrc"), `registry=${registry.url}\n`);
  return project;
}

/** Returns the packages and the bytes of a `node_modules` folder. */
async function weightOf(project: string): Promise<{ packages: number; bytes: number }> {
  const glob = new Bun.Glob("**/node_modules/{*,@*/*}/package.json");
  const options = { cwd: project, dot: true, followSymlinks: false };
  const packages = await Array.fromAsync(glob.scan(options));
  const files = await Array.fromAsync(new Bun.Glob("node_modules/**").scan(options));
  const inodes = new Map(
    files.map((file) => {
      const { ino, size } = statSync(join(project, file));
      return [ino, size] as const;
    }),
  );
  return { packages: packages.length, bytes: inodes.values().reduce((sum, size) => sum + size) };
}

const installs = {
  npm: ["npm", "install", "uncaged-workflow"],
  pnpm: ["pnpm", "add", "uncaged-workflow"],
  bun: [process.execPath, "add", "uncaged-workflow"],
};

describe.each(Object.entries(installs))("installed with %s", (name, argv) => {
  test.skipIf(!Bun.which(argv[0] ?? ""))("the command runs and is small", async () => {
    const project = emptyProject(name);
    await perform(argv, project);
    const command = join(project, "node_modules/.bin/uncaged-workflow");
    expect(await perform([command, "--version"], project)).toMatch(/^\d+\.\d+\.\d+/);
    const { packages, bytes } = await weightOf(project);
    expect(packages).toBeLessThanOrEqual(30);
    expect(bytes).toBeLessThanOrEqual(130 * 1024 * 1024);
  });
});

/** The commands of the page, without the commands of the checkout. */
const page = readFileSync(join(top, "docs/tutorial/getting-started.md"), "utf8");
const commands = samplesIn(page.slice(page.indexOf("\n## 2.")), "sh").flatMap((block) =>
  block
    .split("\n")
    .map((line) => line.replace(/\s+#.*/, ""))
    .filter((line) => line !== ""),
);

describe("getting started", () => {
  let cwd = "";

  beforeAll(async () => {
    cwd = emptyProject("tutorial");
    await perform(installs.npm, cwd);
  });

  const run = (line: string) => {
    const npx = 'uncaged-workflow() { npx --prefix "$TUTORIAL" uncaged-workflow "$@"; }';
    const script = `TUTORIAL=${join(folder, "tutorial")}\n${npx}\n${line}`;
    return perform(["bash", "-euc", script], cwd);
  };
  const edit = (change: (source: string) => string) => {
    const file = join(cwd, "workflow.ts");
    const before = readFileSync(file, "utf8");
    const after = change(before);
    expect(after).not.toBe(before);
    writeFileSync(file, after);
  };
  const json = async (words: string): Promise<Record<string, unknown>[]> =>
    JSON.parse(await run(`uncaged-workflow ${words} --json`)) as Record<string, unknown>[];

  test("its commands run through npx, line by line", async () => {
    let adds = 0;
    let first = "";
    for (const line of commands) {
      if (line.startsWith("cd ")) {
        cwd = join(cwd, line.slice(3));
      } else if (line === "uncaged-workflow add") {
        adds++;
        // The page changes the writer before the second call, and slows it down before the third.
        if (adds === 2) edit((text) => text.replace("${topic} has", "${topic.toUpperCase()} has"));
        const pause = "await new Promise((done) => setTimeout(done, 3000));";
        if (adds === 3) edit((text) => text.replace("return { content: `${topic", `${pause} $&`));
        edit((text) => text.replace(/return \{(?=[^}]*topic)/, `${pause} return {`));
        await run(line);
      } else if (line.includes(" dev ") || line.includes(" serve ")) {
        await interrupted(line.replace(" --open", " --port 0"));
      } else if (line.startsWith("kill -9 ")) {
        const [{ pid } = {}] = await json("ps");
        await run(line.replace("<pid>", String(pid)));
      } else {
        await run(line.replace("<old id>", first));
      }
      if (first === "" && line.includes(" run ")) {
        [{ threadId: first = "" } = {}] = (await json("threads")) as { threadId: string }[];
      }
    }
    // `dev` kills its own thread when it is interrupted.
    const threads = await json("threads --workflow my-workflow");
    expect(threads.map(({ status }) => status)).toEqual(threads.map(() => "completed"));
    expect(adds).toBe(3);
  });

  /** Starts a command that runs until it is interrupted, and waits for its first line. */
  async function interrupted(line: string): Promise<void> {
    const words = line.split(" ").slice(1).join(" ");
    const command = join(folder, "tutorial/node_modules/.bin/uncaged-workflow");
    const child = Bun.spawn(["bash", "-c", `exec ${command} ${words}`], {
      cwd,
      env: environment(),
      stdin: "ignore",
      stdout: "pipe",
      stderr: "inherit",
    });
    const { value } = await child.stdout.getReader().read();
    expect(value?.length).toBeGreaterThan(0);
    child.kill("SIGINT");
    await child.exited;
  }
});
