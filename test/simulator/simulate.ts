/**
 * The deterministic simulator: the product's own clients and workers on a machine in memory. A seed determines its
 * disk, processes, sockets and clock.
 *
 *     bun run simulate --seed 1 --schedules 1000     runs the schedules of the seeds 1 to 1000
 *     bun run simulate --seed 17 --trace             replays one schedule, and prints each call
 *
 * Exits with 1 when a schedule fails. Prints its seed, and a minimal set of faults that still fails.
 */
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import type { Fault } from "./faults.ts";
import { mutate, mutations } from "./mutations.ts";
import type { Outcome } from "./schedule.ts";

const usage =
  "usage: bun run simulate [--seed N] [--schedules M] [--scope all|workers] [--jobs J] [--trace]";

type Options = {
  seed: number;
  schedules: number;
  scope: "all" | "workers";
  jobs: number;
  trace: boolean;
  /** Numbers of the only faults that may occur; null allows all. */
  only: ReadonlySet<number> | null;
  mutation: string | null;
  all: boolean;
};

function refuse(problem: string): never {
  console.error(`${problem}; ${usage}`);
  process.exit(2);
}

function whole(name: string, text: string, least: number): number {
  const value = Number(text);
  if (/^\d{1,12}$/.test(text) && value >= least) return value;
  return refuse(`--${name} ${text} is not a whole number of at least ${least}`);
}

function optionsOf(args: string[]): Options {
  const text = { type: "string" } as const;
  const flag = { type: "boolean", default: false } as const;
  const parse = () =>
    parseArgs({
      args,
      options: {
        seed: { ...text, default: "1" },
        schedules: text,
        scope: { ...text, default: "all" },
        jobs: text,
        faults: text,
        mutation: text,
        trace: flag,
        all: flag,
      },
    });
  let values: ReturnType<typeof parse>["values"];
  try {
    ({ values } = parse());
  } catch (error) {
    return refuse((error as Error).message.split(".")[0] as string);
  }
  const { scope, mutation, faults } = values;
  if (scope !== "all" && scope !== "workers")
    return refuse(`--scope ${scope} is neither all nor workers`);
  if (mutation !== undefined && !mutations.some(({ name }) => name === mutation)) {
    return refuse(`no such mutation: ${mutation}`);
  }
  const schedules = whole(
    "schedules",
    values.schedules ?? (values.trace || faults !== undefined ? "1" : "1000"),
    1,
  );
  return {
    seed: whole("seed", values.seed, 0),
    schedules,
    scope,
    jobs: Math.min(schedules, whole("jobs", values.jobs ?? String(availableParallelism()), 1)),
    trace: values.trace,
    only: faults === undefined ? null : new Set(faults.split(",").filter(Boolean).map(Number)),
    mutation: mutation ?? null,
    all: values.all,
  };
}

type Run = (seed: number, keep: (fault: Fault) => boolean) => Promise<Outcome>;

async function runner({ scope, trace, mutation }: Options): Promise<Run> {
  if (mutation !== null) mutate(mutation);
  const { runSchedule } = await import("./schedule.ts");
  const { faultsOf } = await import("./faults.ts");
  return (seed, keep) =>
    runSchedule({ seed, scope, isTraced: trace, faults: faultsOf(seed).filter(keep) });
}

/** Returns the schedule with a minimal set of faults that still fails. */
async function shrink(run: Run, failed: Outcome): Promise<Outcome> {
  let best = failed;
  for (const { id } of failed.came) {
    const ids = new Set(best.came.map((fault) => fault.id).filter((other) => other !== id));
    const smaller = await run(failed.seed, (fault) => ids.has(fault.id));
    if (smaller.failures.length > 0) best = smaller;
  }
  return best;
}

function report({ seed, came, failures, hash }: Outcome, { scope, mutation }: Options): void {
  const faults = came.map(({ id }) => id).join(",");
  const given = `${scope === "all" ? "" : ` --scope ${scope}`}${mutation === null ? "" : ` --mutation ${mutation}`}`;
  console.log(`FAILED seed ${seed}: ${failures[0]}`);
  console.log(`  faults: ${came.map(({ kind, nth }) => `${kind}@${nth}`).join(", ") || "none"}`);
  console.log(
    `  trace ${hash}; replay: bun run simulate --seed ${seed} --faults "${faults}"${given} --trace`,
  );
}

async function runAlone(
  options: Options,
): Promise<{ failed: number; hash: bigint; calls: number }> {
  const run = await runner(options);
  const { seed, schedules, only } = options;
  const total = { failed: 0, hash: 0n, calls: 0 };
  for (let next = seed; next < seed + schedules; next += 1) {
    const outcome = await run(next, ({ id }) => only === null || only.has(id));
    if (options.trace) console.log(outcome.lines?.join("\n"));
    total.hash = Bun.hash.xxHash64(outcome.hash, total.hash);
    total.calls += outcome.calls;
    if (outcome.failures.length === 0) continue;
    total.failed += 1;
    report(options.trace || only !== null ? outcome : await shrink(run, outcome), options);
    if (!options.all) break;
  }
  return total;
}

/** Splits the seeds over several processes and prints their output. */
async function runParallel(options: Options): Promise<number> {
  const { seed, schedules, jobs } = options;
  const share = Math.ceil(schedules / jobs);
  const given = process.argv.slice(2).join(" ");
  const codes = await Promise.all(
    Array.from({ length: jobs }, async (_, job) => {
      const first = seed + job * share;
      const count = Math.min(share, seed + schedules - first);
      if (count < 1) return 0;
      const args = ["--jobs", "1", "--seed", String(first), "--schedules", String(count)];
      const child = Bun.spawn(
        [process.execPath, import.meta.path, ...process.argv.slice(2), ...args],
        {
          stdio: ["ignore", "inherit", "inherit"],
        },
      );
      return await child.exited;
    }),
  );
  const failed = codes.some((code) => code !== 0);
  console.log(
    `${schedules} schedules from seed ${seed} on${given.includes("workers") ? " (workers)" : ""}: ${failed ? "FAILED" : "ok"}`,
  );
  return failed ? 1 : 0;
}

async function main(): Promise<number> {
  const options = optionsOf(process.argv.slice(2));
  if (options.jobs > 1) return await runParallel(options);
  const begin = performance.now();
  const { failed, hash, calls } = await runAlone(options);
  const seconds = ((performance.now() - begin) / 1000).toFixed(1);
  const what = `${options.schedules} schedules, ${failed} failed, ${calls} calls`;
  console.log(`${what}, ${seconds} s, trace ${hash.toString(16).padStart(16, "0")}`);
  return failed > 0 ? 1 : 0;
}

process.exit(await main());
