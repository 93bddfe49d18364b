import { mkdirSync } from "node:fs";
import { availableParallelism, constants } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { countOf, failuresIn } from "./output.ts";
import { endShared } from "./shared.ts";
import { top } from "./test-files.ts";
import { everyChangeTier, nightlyTier, soakTier, type Stage, type Tier } from "./tiers.ts";

/*
 * The gate. Prints one line per stage with its duration, and the output of a failed stage. The last line,
 * `N passed, N failed`, counts tests; a stage that fails without a failed test counts as one failed test.
 */
const usage =
  "usage: bun scripts/check.ts [--all | --soak [--minutes 720] [--schedules 1000000] [--faults 1000] [--seed N]] [stage…]";

const refuse = (problem: string): never => {
  console.error(`error: ${problem}\n${usage}`);
  process.exit(2);
};

function parsed() {
  const text = (value: string) => ({ type: "string", default: value }) as const;
  const flag = { type: "boolean", default: false } as const;
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        ...{ all: flag, soak: flag, help: { ...flag, short: "h" } },
        ...{ minutes: text("720"), schedules: text("1000000") },
        ...{ faults: text("1000"), seed: text(String(Date.now() % 1_000_000)) },
      },
    });
  } catch (error) {
    return refuse((error as Error).message.split(".")[0] as string);
  }
}

function chosen(): Tier {
  const number = (name: string, text: string): number => {
    const value = Number(text);
    return value > 0 ? value : refuse(`--${name} ${text}: not a positive number`);
  };
  const { values, positionals } = parsed();
  if (values.help) {
    console.log(usage);
    process.exit(0);
  }
  const soak = () =>
    soakTier({
      minutes: number("minutes", values.minutes),
      schedules: number("schedules", values.schedules),
      faults: number("faults", values.faults),
      seed: number("seed", values.seed),
    });
  const tier = values.soak ? soak() : values.all ? nightlyTier() : everyChangeTier();
  const names = tier.groups.flat().map(({ name }) => name);
  const unknown = positionals.find((name) => !names.includes(name));
  if (unknown !== undefined) refuse(`stage "${unknown}" not found; use one of: ${names.join(" ")}`);
  const isChosen = ({ name }: Stage) => positionals.length === 0 || positionals.includes(name);
  return { ...tier, groups: tier.groups.map((group) => group.filter(isChosen)) };
}

const counts = { passed: 0, failed: 0 };
const running = new Set<Bun.Subprocess>();
let stoppedBy = null as "SIGINT" | "SIGTERM" | "SIGHUP" | null;

function end(child: Bun.Subprocess): void {
  // On SIGTERM `bun test` names the files that still run.
  child.kill("SIGTERM");
  setTimeout(() => child.kill("SIGKILL"), 10_000).unref();
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => {
    stoppedBy = signal;
    for (const child of running) end(child);
  });
}

async function perform(
  { command, environment }: Stage,
  longestMs: number | null,
): Promise<{ code: number; output: string }> {
  const env = await environment();
  if (stoppedBy) return { code: 1, output: "" };
  const child = Bun.spawn(command, {
    cwd: top,
    env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  running.add(child);
  const timer = longestMs === null ? undefined : setTimeout(() => end(child), longestMs);
  const [stdout, stderr, code] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ]);
  clearTimeout(timer);
  running.delete(child);
  return { code, output: stdout + stderr };
}

/** Runs a stage, prints its line, and returns whether it passed. */
async function runStage(stage: Stage, longestMs: number | null): Promise<boolean> {
  const begin = performance.now();
  const { code, output } = await perform(stage, longestMs).catch((error: Error) => ({
    code: 1,
    output: error.message,
  }));
  const seconds = ((performance.now() - begin) / 1000).toFixed(1);
  const failed = stage.isTests ? countOf(output, "fail") : 0;
  if (stage.isTests) counts.passed += countOf(output, "pass");
  counts.failed += code === 0 ? failed : Math.max(failed, 1);
  console.log(`${code === 0 ? "ok    " : "FAILED"} ${stage.name.padEnd(10)} ${seconds} s`);
  if (stage.isTests) {
    // The name of a skipped test contains the reason.
    for (const [, test] of output.matchAll(/^\(skip\) (.*)$/gm))
      console.log(`       skipped: ${test}`);
  }
  if (code !== 0 || stage.isReport) {
    console.log(`\n${stage.isTests ? failuresIn(output) : output.trim()}\n`);
  }
  return code === 0;
}

async function runGroup(stages: Stage[], longestMs: number | null): Promise<boolean> {
  const queue = stages.filter(({ name, missing }) => {
    if (missing) console.log(`skipped ${name}: ${missing}`);
    return !missing;
  });
  let passed = true;
  const next = async () => {
    for (let stage = queue.shift(); stage && !stoppedBy; stage = queue.shift()) {
      if (!(await runStage(stage, longestMs))) passed = false;
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, next));
  return passed;
}

async function run({ groups, goesOn, longestMs }: Tier): Promise<boolean> {
  let passed = true;
  for (const group of groups) {
    if (stoppedBy || !(passed || goesOn)) break;
    if (!(await runGroup(group, longestMs))) passed = false;
  }
  return passed;
}

mkdirSync(join(top, ".cache"), { recursive: true });
const passed = await run(chosen());
await endShared();
if (stoppedBy) console.log(`stopped by ${stoppedBy}`);
console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exit(stoppedBy ? 128 + constants.signals[stoppedBy] : passed ? 0 : 1);
