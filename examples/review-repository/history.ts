import type { StepContext } from "@uncaged/workflow";
import { counted } from "./counted.ts";
import { commitsUpTo } from "./git.ts";
import type { Plan } from "./plan.ts";

const largeCommit = 30;
const mostNotes = 3;

/** Finds files of the plan that usually change together, and commits too large to review. */
export async function readHistory(
  { commit, files }: Plan,
  here: StepContext,
): Promise<{ content: string; meta: { notes: string[] } }> {
  const commits = commit === "" ? [] : await commitsUpTo(commit, here);
  const notes = [
    ...couples(
      commits.map(({ paths }) => new Set(paths)),
      files.map(({ path }) => path),
    ),
    ...commits
      .filter(({ paths }) => paths.length > largeCommit)
      .slice(0, mostNotes)
      .map(({ id, subject, paths }) => `${id} changes ${paths.length} files at once: ${subject}`),
  ];
  return {
    content: `${counted(commits.length, "commit")}, ${counted(notes.length, "finding")}`,
    meta: { notes },
  };
}

/** Returns pairs of files that nearly always change together. */
function couples(commits: Set<string>[], paths: string[]): string[] {
  return paths
    .flatMap((a, index) => paths.slice(index + 1).map((b) => ({ a, b })))
    .map(({ a, b }) => {
      const changes = Math.min(
        ...[a, b].map((path) => commits.filter((one) => one.has(path)).length),
      );
      const both = commits.filter((one) => one.has(a) && one.has(b)).length;
      return { a, b, both, changes };
    })
    .filter(({ both, changes }) => both >= 3 && both >= 0.7 * changes)
    .sort((x, y) => y.both - x.both)
    .slice(0, mostNotes)
    .map(({ a, b, both }) => `\`${a}\` and \`${b}\` changed together ${both} times`);
}
