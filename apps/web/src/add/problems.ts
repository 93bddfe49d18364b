import { ApiError } from "../api/request.ts";

/**
 * One thing that is wrong. Lines and columns count from 1. `file` is null when no file is named, `line`
 * and `column` when no place is.
 */
export type Problem = {
  file: string | null;
  line: number | null;
  column: number | null;
  message: string;
};

/** What is wrong with files, in the order of their lines; what has no place comes first. */
export function problemsOf(error: Error, files: Iterable<string>): Problem[] {
  const details = error instanceof ApiError && error.details.length > 0 ? error.details : null;
  const known = [...files];
  const all = (details ?? [error.message]).map((text) => problemOf(text, known));
  return all.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
}

function problemOf(text: string, files: readonly string[]): Problem {
  const file = files.find((one) => text.startsWith(`${one}:`));
  if (file === undefined) return { file: null, line: null, column: null, message: text };
  const rest = text.slice(file.length + 1);
  const place = /^(\d+)(?::(\d+))?:?\s*/.exec(rest);
  if (!place) return { file, line: null, column: null, message: rest.trim() };
  return {
    file,
    line: Number(place[1]),
    column: place[2] === undefined ? null : Number(place[2]),
    message: rest.slice(place[0].length),
  };
}

/** Lines of a file that are shown together, with those of them that are wrong. */
export type Excerpt = { from: number; to: number; problems: Problem[] };

/** The places of a text of so many lines that its problems are shown at, each with lines around it. */
export function excerptsOf(problems: readonly Problem[], lines: number, around = 2): Excerpt[] {
  const excerpts: Excerpt[] = [];
  for (const problem of problems) {
    if (problem.line === null || problem.line > lines) continue;
    const from = Math.max(1, problem.line - around);
    const to = Math.min(lines, problem.line + around);
    const last = excerpts.at(-1);
    if (last && from <= last.to + 1) {
      last.to = Math.max(last.to, to);
      last.problems.push(problem);
    } else excerpts.push({ from, to, problems: [problem] });
  }
  return excerpts;
}
