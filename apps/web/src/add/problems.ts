import { ApiError } from "../api/request.ts";

/** One thing that is wrong with a file. Lines and columns count from 1; null when there is no place. */
export type Problem = { line: number | null; column: number | null; message: string };

/** What is wrong with a file, in the order of its lines; what has no place comes first. */
export function problemsOf(error: Error, file: string): Problem[] {
  const details = error instanceof ApiError && error.details.length > 0 ? error.details : null;
  const all = (details ?? [error.message]).map((text) => problemOf(text, file));
  return all.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
}

function problemOf(text: string, file: string): Problem {
  const rest = text.startsWith(`${file}:`) ? text.slice(file.length + 1) : null;
  const place = rest === null ? null : /^(\d+)(?::(\d+))?:?\s*/.exec(rest);
  if (rest === null || !place) return { line: null, column: null, message: rest?.trim() ?? text };
  return {
    line: Number(place[1]),
    column: place[2] === undefined ? null : Number(place[2]),
    message: rest.slice(place[0].length),
  };
}

/** Lines that are shown together, with those of them that are wrong. */
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
