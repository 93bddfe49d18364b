import type { StepContext } from "@uncaged/workflow";
import { counted } from "./counted.ts";
import { commitsUpTo, git } from "./git.ts";

/** A file to read, with its number of changes in the last 500 commits, and whether a test is named after it. */
export type HotSpot = {
  path: string;
  blob: string;
  bytes: number;
  changes: number;
  tested: boolean;
};

export type Plan = { commit: string; commits: number; files: HotSpot[] };

const maxBytes = 1_000_000;
const notSource =
  /(^|\/)(node_modules|vendor|third_party|dist)\/|(^|\/)(package-lock\.json|pnpm-lock\.yaml|go\.sum)$|\.(lock|map|snap|min\.\w+|svg|png|jpe?g|gif|ico|webp|pdf|woff2?|ttf|zip|gz|jar|wasm|csv)$/i;

/**
 * Selects the largest and most frequently changed files, which most likely have faults. If the prompt names folders or
 * files, limits the review to them.
 */
export async function planReview(
  prompt: string,
  most: number,
  here: StepContext,
): Promise<{ content: string; meta: Plan }> {
  const commit = await headOf(here);
  if (commit === null) {
    return {
      content: "the repository has no commit yet",
      meta: { commit: "", commits: 0, files: [] },
    };
  }
  const commits = await commitsUpTo(commit, here);
  const all = await filesAt(commit, here);
  const scope = scopeOf(prompt, all);
  const inScope = all.filter(
    ({ path }) => scope.length === 0 || scope.some((part) => isIn(path, part)),
  );
  const files = hottest(inScope, countChanges(commits.flatMap(({ paths }) => paths)), all);
  const chosen = files.slice(0, most);
  const place = scope.length === 0 ? "" : ` in ${scope.join(", ")}`;
  const lines = chosen.map(
    ({ path, changes, bytes }) => `- ${path} (${counted(changes, "change")}, ${bytes} bytes)`,
  );
  return {
    content: [`read ${chosen.length} of ${counted(inScope.length, "file")}${place}`, ...lines].join(
      "\n",
    ),
    meta: { commit, commits: commits.length, files: chosen },
  };
}

type Blob = { path: string; blob: string; bytes: number };

async function headOf(here: StepContext): Promise<string | null> {
  await git(here, "rev-parse", "--git-dir");
  const head = await git(here, "rev-parse", "--verify", "--quiet", "HEAD").catch(() => "");
  return head.trim() || null;
}

async function filesAt(commit: string, here: StepContext): Promise<Blob[]> {
  const tree = await git(here, "ls-tree", "-r", "-l", "-z", "--full-tree", commit);
  return tree.split("\0").flatMap((line) => {
    const [, blob, bytes, path] = /^100\d+ blob (\w+) +(\d+)\t(.+)$/s.exec(line) ?? [];
    return blob && path ? [{ path, blob, bytes: Number(bytes) }] : [];
  });
}

/** Returns the words of a prompt that name existing files or folders. */
function scopeOf(prompt: string, files: Blob[]): string[] {
  const words = prompt.split(/[\s,;"'`]+/).map((word) => word.replace(/^\.\/|[/.:?!]+$/g, ""));
  return words.filter((word) => word !== "" && files.some(({ path }) => isIn(path, word)));
}

const isIn = (path: string, part: string): boolean => path === part || path.startsWith(`${part}/`);

function countChanges(paths: string[]): Map<string, number> {
  const changes = new Map<string, number>();
  for (const path of paths) changes.set(path, (changes.get(path) ?? 0) + 1);
  return changes;
}

function hottest(files: Blob[], changes: Map<string, number>, all: Blob[]): HotSpot[] {
  const tests = new Set(all.filter(({ path }) => isTest(path)).map(({ path }) => stemOf(path)));
  return files
    .filter(({ path, bytes }) => bytes > 0 && bytes < maxBytes && !notSource.test(path))
    .map((file) => ({
      ...file,
      changes: changes.get(file.path) ?? 0,
      tested: isTest(file.path) || tests.has(stemOf(file.path)),
    }))
    .sort((a, b) => weightOf(b) - weightOf(a) || (a.path < b.path ? -1 : 1));
}

const weightOf = ({ path, changes, bytes }: HotSpot): number =>
  changes * bytes * (isTest(path) ? 0.3 : 1);

const isTest = (path: string): boolean =>
  /(^|[/._-])(tests?|specs?|__tests__)[/._-]|Tests?\.\w+$/.test(path);

/** Returns `threads` for threads.ts, threads.test.ts, test_threads.py and threads_test.go. */
function stemOf(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1).replace(/\.\w+$/, "");
  return name
    .replace(/(^|[._-])(tests?|specs?)(?=$|[._-])|Tests?$/g, "")
    .replace(/^[._-]/, "")
    .toLowerCase();
}
