import { readFileSync } from "node:fs";
import { join } from "node:path";

/* Lists the test files, and the files of each stage of the gate. */
export const top = join(import.meta.dir, "..");

/** All test files by name. A pattern for `bun test` would also match copies in built folders. */
const named = [
  ...new Bun.Glob("{packages,apps,examples,bench,scripts,test}/**/*.test.ts").scanSync(top),
]
  .filter((path) => !/(^|\/)(node_modules|dist|template)\//.test(path))
  .sort()
  .map((path) => `./${path}`);

const holds = (path: string, pattern: RegExp): boolean =>
  pattern.test(readFileSync(join(top, path), "utf8"));

const isNightly = (path: string): boolean => path.endsWith(".nightly.test.ts");

/** Whether a file tries more cases of its tables when `TEST_CASES` is `all`. */
const hasMoreCases = (path: string): boolean => holds(path, /fixtures\/cases\.ts"/);

export type TestFiles = {
  /** Files that share a Restate server and run in sequence. */
  cluster: string[];
  /** Files that share a PostgreSQL server and run in sequence. */
  postgres: string[];
  /** Files that share a Chromium. */
  browser: string[];
  /** Files that build the published packages. */
  pack: string[];
  /** All other files, by package; `repository` for files outside of a package. */
  packages: Record<string, string[]>;
};

function stageOf(path: string): string {
  if (path.startsWith("./apps/web/test/")) return "browser";
  if (holds(path, /^\/\/ @cluster\b/m)) return "cluster";
  if (holds(path, /^\/\/ @postgres\b/m)) return "postgres";
  if (/^\.\/test\/(pack|standalone)\b/.test(path)) return "pack";
  return /^\.\/(?:packages|apps)\/([^/]+)/.exec(path)?.[1] ?? "repository";
}

function byStage(paths: readonly string[]): TestFiles {
  const grouped = Object.groupBy(paths, stageOf) as Record<string, string[]>;
  const { cluster = [], postgres = [], browser = [], pack = [], ...packages } = grouped;
  return { cluster, postgres, browser, pack, packages };
}

/** The files of `npm test`. */
export const everyChange = byStage(named.filter((path) => !isNightly(path)));

/** The files of `npm run test:all`: the nightly files, and files that have more cases there. */
export const nightly = byStage(named.filter((path) => isNightly(path) || hasMoreCases(path)));
