import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";

/* The repository's test files, and how `bun test` runs them. */
export const top = join(import.meta.dir, "..");

export const packTest = "./test/pack.test.ts";
/** The console's tests in a browser. They are a stage of their own: not every machine has a browser. */
export const browserTests = "./apps/web/test/";

/** Every test file, named one by one: a bundle that a test has built may hold a file of that name. */
const everyFile = [
  ...new Bun.Glob("{packages,apps,examples,bench,scripts,test}/**/*.test.ts").scanSync({
    cwd: top,
  }),
]
  .filter((path) => !/(^|\/)(node_modules|dist|template)\//.test(path))
  .sort()
  .map((path) => `./${path}`)
  .filter((path) => path !== packTest && !path.startsWith(browserTests));

/** A file with such a comment measures time or memory: nothing else may run beside it. */
const isAlone = (path: string): boolean =>
  /^\/\/ @alone\b/m.test(readFileSync(join(top, path), "utf8"));

export const aloneFiles = everyFile.filter(isAlone);
export const parallelFiles = everyFile.filter((path) => !aloneFiles.includes(path));
/** Those that start processes; a package's unit tests stand beside its sources. */
export const processFiles = everyFile.filter((path) => !path.includes("/src/"));

/** Tests wait more than they compute. */
const workers = availableParallelism() + 2;

/** How long each file took the last time: the slowest start first. */
const timings = join(top, ".cache/test-times.json");

export const inParallel = [`--parallel=${workers}`, `--timings=${timings}`];

/** The sum of the `bun test` lines ` 12 pass` or ` 1 fail`. */
export const countOf = (output: string, word: "pass" | "fail"): number =>
  [...output.matchAll(new RegExp(`^ *(\\d+) ${word}$`, "gm"))]
    .map((match) => Number(match[1]))
    .reduce((sum, count) => sum + count, 0);

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
