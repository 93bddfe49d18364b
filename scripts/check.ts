import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findChromium } from "../apps/web/test/chromium.ts";

/**
 * The one gate. Each stage is timed; the first that fails prints what it said and ends the run.
 * The last line, `N passed, N failed`, counts the tests of all stages that are tests.
 */
const root = join(import.meta.dir, "..");
const tools = join(root, "node_modules", ".bin");
const bun = process.execPath;

type Stage = {
  name: string;
  command: string[];
  tests?: boolean;
  /** Why it can't run on this machine; null when it can. */
  missing?: string | null;
};

const packTest = "test/pack.test.ts";

/** The console's tests in a browser. They are a stage of their own: not every machine has a browser. */
const browserTests = "./apps/web/test/";
const noBrowser = "no Chromium was found: apt-get install chromium, or name one in CHROMIUM";

/** Our own tests, named one by one: a bundle that a test has built may hold a file of that name. */
const testFiles = [
  ...new Bun.Glob("{packages,apps,examples,bench,scripts,test}/**/*.test.ts").scanSync({
    cwd: root,
  }),
]
  .filter((path) => path !== packTest && !/(^|\/)(node_modules|dist|template)\//.test(path))
  .sort()
  .map((path) => `./${path}`)
  .filter((path) => !path.startsWith(browserTests));

const stages: Stage[] = [
  { name: "format", command: [join(tools, "biome"), "format"] },
  { name: "lint", command: [join(tools, "oxlint"), "--type-aware", "--deny-warnings"] },
  { name: "types", command: [join(tools, "tsc"), "-p", "."] },
  { name: "console", command: [join(tools, "tsc"), "-p", "apps/web"] },
  { name: "unused", command: [join(tools, "knip"), "--no-progress"] },
  { name: "build", command: [bun, "run", "--cwd", "apps/web", "build"] },
  {
    name: "tests",
    command: [bun, "test", "--timeout=60000", ...testFiles],
    tests: true,
  },
  {
    name: "browser",
    command: [bun, "test", "--timeout=60000", browserTests],
    tests: true,
    missing: findChromium() === null ? noBrowser : null,
  },
  {
    name: "pack",
    command: [bun, "test", "--timeout=300000", `./${packTest}`],
    tests: true,
  },
];

/** A test in an endless loop can't be timed out by its own process. */
const longestMs = 15 * 60_000;

const counts = { passed: 0, failed: 0 };
const home = mkdtempSync(join(tmpdir(), "uncaged-check-"));

async function perform({ command, tests }: Stage): Promise<{ code: number; output: string }> {
  const child = Bun.spawn(command, {
    cwd: root,
    // Bun writes no snapshot of its own accord where CI is set; oxlint paints there.
    env: {
      ...process.env,
      HOME: home,
      NO_COLOR: "1",
      CI: tests ? "1" : undefined,
    },
    timeout: longestMs,
    killSignal: "SIGKILL",
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const stop = () => child.kill();
  process.once("SIGINT", stop).once("SIGTERM", stop);
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  process.off("SIGINT", stop).off("SIGTERM", stop);
  return { code, output: stdout + stderr };
}

/** Adds up the ` 12 pass` and ` 0 fail` lines of `bun test`. */
function count(output: string): void {
  const sum = (word: string) =>
    [...output.matchAll(new RegExp(`^ *(\\d+) ${word}$`, "gm"))]
      .map((match) => Number(match[1]))
      .reduce((a, b) => a + b, 0);
  counts.passed += sum("pass");
  counts.failed += sum("fail");
}

/** What a failing stage said; of the tests only what isn't a passed one. */
const shown = (output: string) =>
  output
    .split("\n")
    .filter((line) => !line.startsWith("(pass)"))
    .join("\n")
    .trim();

async function main(): Promise<number> {
  const only = process.argv.slice(2);
  for (const stage of stages) {
    if (only.length > 0 && !only.includes(stage.name)) continue;
    if (stage.missing && process.env.BROWSER_TESTS !== "required") {
      console.log(`left out ${stage.name}: ${stage.missing}`);
      continue;
    }
    const begin = performance.now();
    const { code, output } = await perform(stage);
    const seconds = ((performance.now() - begin) / 1000).toFixed(1);
    if (stage.tests) count(output);
    console.log(`${code === 0 ? "ok    " : "FAILED"} ${stage.name.padEnd(8)} ${seconds} s`);
    if (code !== 0) {
      console.log(`\n${shown(output)}\n`);
      if (!stage.tests) counts.failed += 1;
      else if (counts.failed === 0) counts.failed = 1;
      return 1;
    }
  }
  return 0;
}

const code = await main().finally(() => rmSync(home, { recursive: true, force: true }));
console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exit(code);
