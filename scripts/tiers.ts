import { availableParallelism } from "node:os";
import { join } from "node:path";
import { findChromium } from "../apps/web/test/chromium.ts";
import { whyNoCluster } from "../packages/workflow-restate/test/fixtures/server.ts";
import { whyNoPostgres } from "../packages/workflow-postgres/test/fixtures/server.ts";
import { type Environment, plainEnvironment, type Shared, testEnvironment } from "./shared.ts";
import { everyChange, nightly, type TestFiles, top } from "./test-files.ts";

/* The three tiers of the gate, described in CONTRIBUTING.md. */
export type Stage = {
  name: string;
  command: string[];
  environment: () => Environment | Promise<Environment>;
  /** Whether the stage prints `bun test` counts. */
  isTests?: boolean;
  /** Whether the output is printed even when the stage passes. */
  isReport?: boolean;
  /** Reason why this machine can't run the stage; null when it can. */
  missing?: string | null;
};

/** A tier: its stages, and their limits. */
export type Tier = {
  /** Stages of a group run in parallel, one per core. Groups run in sequence. */
  groups: Stage[][];
  /** Whether later groups still run after a failed group. */
  goesOn: boolean;
  /** Time limit of a stage in milliseconds, for endless loops that `bun test` can't end. */
  longestMs: number | null;
};

type Cases = "some" | "all";

const minute = 60_000;
const cores = availableParallelism();
const bun = process.execPath;
const tool = (name: string): string => join(top, "node_modules/.bin", name);

const stage = (name: string, ...command: string[]): Stage => ({
  name,
  command,
  environment: plainEnvironment,
});

/** Durations of the last run, so that the slowest files start first. */
const timings = `--timings=${join(top, ".cache/test-times.json")}`;
const inParallel = (count: number) => [`--parallel=${count}`, timings, "--update-timings"];

type TestOptions = { cases: Cases; parallel?: number; shared?: Shared[]; missing?: string | null };

const tests = (name: string, files: readonly string[], options: TestOptions): Stage[] => {
  const { cases, parallel, shared = [], missing = null } = options;
  if (files.length === 0) return [];
  const flags = ["--timeout=180000", ...(parallel ? inParallel(parallel) : [])];
  return [
    {
      name,
      command: [bun, "test", ...flags, ...files],
      environment: () => testEnvironment(cases, shared),
      isTests: true,
      missing,
    },
  ];
};

// Tests spend more time waiting than computing.
const processes = cores + 2;

const noBrowser =
  findChromium() === null && process.env.BROWSER_TESTS !== "required"
    ? "no Chromium found: apt-get install chromium, or set CHROMIUM"
    : null;

const browser = ({ browser: files }: TestFiles, cases: Cases): Stage[] =>
  tests("browser", files, { cases, parallel: cores, shared: ["browser"], missing: noBrowser });

const cluster = ({ cluster: files }: TestFiles, cases: Cases): Stage[] =>
  tests("cluster", files, { cases, shared: ["cluster"], missing: whyNoCluster });

const postgres = ({ postgres: files }: TestFiles, cases: Cases): Stage[] =>
  tests("postgres", files, { cases, shared: ["postgres"], missing: whyNoPostgres });

/** Runs the simulator at low priority. The simulator has its own clock, so it can wait for parallel tests. */
const simulator = (schedules: number): Stage[] =>
  [["simulate", "all", schedules] as const, ["workers", "workers", schedules / 10] as const].map(
    ([name, scope, count]) =>
      stage(
        name,
        ...["nice", "-n", "10", bun, "test/simulator/simulate.ts"],
        ...["--scope", scope, "--schedules", String(count)],
      ),
  );

/** `npm test`. */
export const everyChangeTier = (): Tier => ({
  groups: [
    [
      stage("lint", tool("oxlint"), "--type-aware", "--deny-warnings"),
      stage("types", tool("tsc"), "-p", "."),
      stage("console", tool("tsc"), "-p", "apps/web"),
      stage("unused", tool("knip"), "--no-progress"),
      stage("build", bun, "run", "--cwd", "apps/web", "build"),
      // Needs Bun, because Node 20 is too old for the tool.
      stage("imports", bun, "--bun", tool("depcruise"), "packages", "apps"),
      stage("api", bun, "scripts/api.ts", "--check"),
      stage("format", tool("biome"), "format"),
      stage("prose", bun, "scripts/prose/check.ts"),
    ],
    tests("tests", Object.values(everyChange.packages).flat(), {
      cases: "some",
      parallel: processes,
    }),
    // Each of these stages uses only some of the cores, so they run in parallel.
    [
      ...cluster(everyChange, "some"),
      ...postgres(everyChange, "some"),
      ...tests("pack", everyChange.pack, { cases: "some" }),
      ...browser(everyChange, "some"),
      ...simulator(2000),
    ],
  ],
  goesOn: false,
  longestMs: 40 * minute,
});

/** `npm run test:all`. */
export const nightlyTier = (): Tier => ({
  groups: [
    ...Object.entries(nightly.packages).map(([name, files]) =>
      tests(name, files, { cases: "all", parallel: processes }),
    ),
    browser(nightly, "all"),
    // Fails on a dead link, even in doc comments.
    [stage("site", bun, "run", "site")],
    [
      ...cluster(nightly, "all"),
      ...postgres(nightly, "all"),
      ...tests("pack", nightly.pack, { cases: "all" }),
      ...simulator(20_000),
    ],
  ],
  goesOn: true,
  longestMs: 90 * minute,
});

/** `npm run soak`. */
export const soakTier = (options: {
  minutes: number;
  schedules: number;
  faults: number;
  seed: number;
}): Tier => {
  const { minutes, schedules, faults, seed } = options;
  const crashtest = ["scripts/crashtest/crashtest.ts", "--seed", String(seed)];
  const onCluster = ["--cluster", "--nodes", "3", "--faults", String(faults)];
  const stages = [
    ...simulator(schedules),
    stage("crashtest", bun, ...crashtest, "--minutes", String(minutes)),
    { ...stage("cluster", bun, ...crashtest, ...onCluster), missing: whyNoCluster },
    {
      ...stage("postgres", bun, ...crashtest, "--database", "--faults", String(faults)),
      missing: whyNoPostgres,
    },
    { ...stage("bench", bun, "bench/bench.ts", "--markdown"), isReport: true },
  ];
  return { groups: stages.map((one) => [one]), goesOn: true, longestMs: null };
};
