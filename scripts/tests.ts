import { readFileSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { makeTestedCommand } from "./build.ts";

/* The repository's test files, and how `bun test` runs them. */
export const top = join(import.meta.dir, "..");

/** What is published: each of these builds it and takes its time. */
const packFiles = [
  "./test/pack.test.ts",
  "./test/pack-project.nightly.test.ts",
  "./test/standalone.nightly.test.ts",
];

/** Every test file, named one by one: a bundle that a test has built may hold a file of that name. */
const namedFiles = [
  ...new Bun.Glob("{packages,apps,examples,bench,scripts,test}/**/*.test.ts").scanSync({
    cwd: top,
  }),
]
  .filter((path) => !/(^|\/)(node_modules|dist|template)\//.test(path))
  .sort()
  .map((path) => `./${path}`);

const hasMark = (mark: string) => (path: string) =>
  new RegExp(`^// @${mark}\\b`, "m").test(readFileSync(join(top, path), "utf8"));

/** A file with such a comment measures time or memory: nothing else may run beside it. */
const isAlone = hasMark("alone");

/** A file with such a comment starts servers of a cluster: one such file runs after the other. */
const isOfCluster = hasMark("cluster");

/** Runs in `npm run test:all` only. */
const isMore = (path: string) => path.endsWith(".nightly.test.ts");

/** How many cases the tests generate, and which files run: `all` in CI, or where a variable of their own asks for it. */
export const cases = process.env.TEST_CASES ?? (process.env.CI ? "all" : "some");

/** The files that are left out, because not all cases are asked for. */
export const leftOut = cases === "all" ? [] : namedFiles.filter(isMore);
const chosenFiles = namedFiles.filter((path) => !leftOut.includes(path));

const isInBrowser = (path: string): boolean => path.startsWith("./apps/web/test/");
export const packTests = packFiles.filter((path) => chosenFiles.includes(path));
const everyFile = chosenFiles.filter((path) => !packFiles.includes(path) && !isInBrowser(path));

/** The console's tests in a browser. They are stages of their own: not every machine has a browser. */
const browserFiles = chosenFiles.filter(isInBrowser);
const isInTurn = (path: string): boolean => isAlone(path) || isOfCluster(path);
export const browserAloneFiles = browserFiles.filter(isInTurn);
export const browserParallelFiles = browserFiles.filter((path) => !isInTurn(path));

export const aloneFiles = everyFile.filter(isAlone);
/** Those that need a Restate server: not every machine has its program. */
export const clusterFiles = everyFile.filter(isOfCluster);
export const parallelFiles = everyFile.filter((path) => !isAlone(path) && !isOfCluster(path));
/** Those that start processes, without a browser; a package's unit tests stand beside its sources. */
export const processFiles = everyFile.filter((path) => !path.includes("/src/"));

/** Tests wait more than they compute. */
const workers = availableParallelism() + 2;
/** Each of those in a browser has some processes of a browser at work. */
const browsers = availableParallelism();

/** How long each file took the last time: the slowest start first. */
const timings = join(top, ".cache/test-times.json");

export const inParallel = [`--parallel=${workers}`, `--timings=${timings}`];
export const browsersInParallel = [`--parallel=${browsers}`, `--timings=${timings}`];

/** How long a test may take: one that hangs is ended, one on a machine with much else to do is not. */
export const inTime = "--timeout=180000";

/** The environment of `bun test`, in which it writes no snapshot of its own accord; it asks for no more cases than here. */
export const testEnvironment = { ...process.env, NO_COLOR: "1", CI: "1", TEST_CASES: cases };

let command: Promise<string> | null = null;

/** The same, for tests that run a command line which is built from the sources as they are. */
export async function builtEnvironment(): Promise<Record<string, string | undefined>> {
  command ??= makeTestedCommand().then((folder) => {
    process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
    return folder;
  });
  return { ...testEnvironment, TEST_COMMAND: await command };
}

/** The sum of the `bun test` lines ` 12 pass` or ` 1 fail`. */
export const countOf = (output: string, word: "pass" | "fail"): number =>
  [...output.matchAll(new RegExp(`^ *(\\d+) ${word}$`, "gm"))]
    .map((match) => Number(match[1]))
    .reduce((sum, count) => sum + count, 0);

/** The tests that `bun test` printed as failed, each with its file. */
export function failedTests(output: string): string[] {
  let file = "";
  const failed: string[] = [];
  for (const line of output.split("\n")) {
    file = /^(\S+\.test\.ts):$/.exec(line)?.[1] ?? file;
    const test = /^\(fail\) (.*?)(?: \[[\d.]+m?s\])?$/.exec(line)?.[1];
    if (test !== undefined) failed.push(`${file}: ${test}`);
  }
  return failed;
}

/** What `bun test` printed of the files with a failure, without their passed tests, and its last lines. */
export function failuresIn(output: string): string {
  const [first = "", ...sections] = output.split(/^(?=\S+\.test\.ts:$)/m);
  const [last = "", ...rest] = (sections.pop() ?? first).split(/^(?=\s*\d+ (?:pass|skip|fail)$)/m);
  return [...sections, last]
    .filter((section) => /^(\(fail\)|error:|✗|Interrupted)/m.test(section))
    .map((section) => section.replace(/^\((pass|skip|todo)\) .*\n/gm, "").trim())
    .concat(rest.join("").trim())
    .join("\n\n");
}
