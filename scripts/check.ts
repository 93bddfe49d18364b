import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { findChromium } from "../apps/web/test/chromium.ts";
import { whyNoCluster } from "../packages/workflow-restate/test/fixtures/server.ts";
import {
  aloneFiles,
  browserAloneFiles,
  browserParallelFiles,
  browsersInParallel,
  builtEnvironment,
  cases,
  clusterFiles,
  countOf,
  failuresIn,
  inParallel,
  inTime,
  leftOut,
  packTests,
  parallelFiles,
  top,
} from "./tests.ts";

/*
 * The one gate. The stages of a group run in parallel, the groups one after the other; the first group
 * with a failure ends the run. Each stage is timed; one that fails prints its output.
 * The last line, `N passed, N failed`, counts the tests of all stages that are tests.
 */
const tools = join(top, "node_modules", ".bin");
const bun = process.execPath;

type Environment = Record<string, string | undefined>;

type Stage = {
  name: string;
  command: string[];
  tests?: boolean;
  environment?: () => Promise<Environment> | Environment;
  /** Why it can't run on this machine; null when it can. */
  missing?: string | null;
};

const noBrowser = "no Chromium was found: apt-get install chromium, or name one in CHROMIUM";
/** In CI a test that has failed is tried once more, and named: a landing does not hang on one of 5,000 that hung. */
const again = process.env.CI ? ["--retry=1"] : [];
const bunTest = (...args: string[]) => ({
  command: [bun, "test", inTime, ...again, ...args],
  tests: true,
  environment: builtEnvironment,
});

const browserStage = (name: string, ...args: string[]): Stage => ({
  name,
  ...bunTest(...args),
  missing: findChromium() === null ? noBrowser : null,
});

/** What is not a test: oxlint paints where CI is set. */
const plainEnvironment = (): Environment => ({ ...process.env, NO_COLOR: "1", CI: undefined });

/** A run of the simulator: a tenth of the schedules where not all are asked for. */
function simulate(scope: string, schedules: number): string[] {
  const count = cases === "all" ? schedules : schedules / 10;
  return [bun, "test/simulator/simulate.ts", "--scope", scope, "--schedules", String(count)];
}

const groups: Stage[][] = [
  [
    { name: "lint", command: [join(tools, "oxlint"), "--type-aware", "--deny-warnings"] },
    { name: "types", command: [join(tools, "tsc"), "-p", "."] },
    { name: "console", command: [join(tools, "tsc"), "-p", "apps/web"] },
    { name: "unused", command: [join(tools, "knip"), "--no-progress"] },
    { name: "build", command: [bun, "run", "--cwd", "apps/web", "build"] },
    { name: "format", command: [join(tools, "biome"), "format"] },
  ],
  [{ name: "tests", ...bunTest(...inParallel, "--update-timings", ...parallelFiles) }],
  // Beside the tests above, a server's workers would answer too late for what these expect of them.
  [{ name: "cluster", ...bunTest(...clusterFiles), missing: whyNoCluster }],
  [{ name: "alone", ...bunTest(...aloneFiles) }],
  [browserStage("browser", ...browsersInParallel, "--update-timings", ...browserParallelFiles)],
  [browserStage("page", ...browserAloneFiles)],
  [{ name: "pack", ...bunTest(...packTests) }],
  [
    { name: "simulate", command: simulate("all", 20_000) },
    { name: "workers", command: simulate("workers", 2_000) },
  ],
];

/** A test in an endless loop can't be timed out by its own process. A machine with other work takes three times as long as a quiet one. */
const longestMs = 40 * 60_000;

const counts = { passed: 0, failed: 0 };
const home = mkdtempSync(join(tmpdir(), "uncaged-check-"));

async function perform({
  command,
  environment = plainEnvironment,
}: Stage): Promise<{ code: number; output: string }> {
  const child = Bun.spawn(command, {
    cwd: top,
    env: { ...(await environment()), HOME: home, TEST_CASES: cases },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const stop = () => child.kill();
  process.once("SIGINT", stop).once("SIGTERM", stop);
  // On SIGTERM `bun test` names the files that still run.
  const timers = [
    setTimeout(stop, longestMs),
    setTimeout(() => child.kill("SIGKILL"), longestMs + 10_000),
  ];
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  for (const timer of timers) clearTimeout(timer);
  process.off("SIGINT", stop).off("SIGTERM", stop);
  return { code, output: stdout + stderr };
}

/** Runs a stage, prints its line, and gives whether it has passed. */
async function runStage(stage: Stage): Promise<boolean> {
  const begin = performance.now();
  const { code, output } = await perform(stage);
  const seconds = ((performance.now() - begin) / 1000).toFixed(1);
  const failed = stage.tests ? countOf(output, "fail") : 0;
  if (stage.tests) counts.passed += countOf(output, "pass");
  // A stage may also fail without a failed test: a process that crashed, a tool's finding.
  counts.failed += code === 0 ? failed : Math.max(failed, 1);
  console.log(`${code === 0 ? "ok    " : "FAILED"} ${stage.name.padEnd(8)} ${seconds} s`);
  const report = (what: string, line: RegExp): boolean => {
    const found = stage.tests ? [...output.matchAll(line)].map(([, test]) => test) : [];
    for (const test of new Set(found)) console.log(`       ${what}: ${test}`);
    return found.length > 0;
  };
  // Why something can't be tested here is in the name of the test.
  report("left out", /^\(skip\) (.*)$/gm);
  const isFlaky = report("passed at its second try", /^\(pass\) (.*) \(attempt \d+\)/gm);
  if (code !== 0 || isFlaky) console.log(`\n${stage.tests ? failuresIn(output) : output.trim()}\n`);
  return code === 0;
}

/** Runs the stages of a group, as many at once as there are cores. */
async function runGroup(stages: Stage[]): Promise<boolean> {
  const queue = [...stages];
  let passed = true;
  const next = async () => {
    for (let stage = queue.shift(); stage !== undefined; stage = queue.shift()) {
      if (!(await runStage(stage))) passed = false;
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, next));
  return passed;
}

async function main(): Promise<number> {
  mkdirSync(join(top, ".cache"), { recursive: true });
  const only = process.argv.slice(2);
  for (const group of groups) {
    const chosen = group.filter(({ name }) => only.length === 0 || only.includes(name));
    const stages = chosen.filter(({ name, missing }) => {
      const isRequired = name !== "cluster" && process.env.BROWSER_TESTS === "required";
      if (!missing || isRequired) return true;
      console.log(`left out ${name}: ${missing}`);
      return false;
    });
    if (!(await runGroup(stages))) return 1;
  }
  if (leftOut.length > 0) {
    const tried = "killed at each point, crowded, damaged and generated";
    console.log(`left out, for CI or TEST_CASES=all: ${leftOut.length} files of what is ${tried}`);
  }
  return 0;
}

const code = await main().finally(() => rmSync(home, { recursive: true, force: true }));
console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exit(code);
