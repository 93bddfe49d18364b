import { useQuery } from "@tanstack/react-query";
import { CircleX } from "lucide-react";
import { counted } from "../../lib/format.ts";
import { ApiError } from "../../lib/request.ts";
import { Panel } from "../../ui/page.tsx";
import { SourceLine, type Token, tokensOf } from "../../ui/source-line.tsx";
import { FailureNotice, sentence } from "../../ui/states.tsx";
import type { Upload } from "./files.ts";

type Props = { error: Error; upload: Upload };

export function FileProblems({ error, upload: { workflow, files } }: Props) {
  const problems = problemsOf(error, files.keys());
  const located = problems.filter(({ file, line }) => file !== null && line !== null);
  if (located.length === 0) return <FailureNotice error={error} />;
  const byFile = Map.groupBy(located, ({ file }) => file ?? workflow);
  const hint = error instanceof ApiError ? error.hint : null;
  return (
    <Panel role="alert" aria-label="Problems">
      <h2 className="flex items-center gap-2 wrap-anywhere">
        <CircleX className="text-red" />
        {workflow} was not added: {counted(problems.length, "error")}
      </h2>
      {hint && <p className="text-muted">{sentence(hint)}.</p>}
      <ul>
        {problems
          .filter((problem) => !located.includes(problem))
          .map(({ message }) => (
            <li key={message}>{message}</li>
          ))}
      </ul>
      {[...byFile].map(([path, own]) => (
        <ProblemsIn
          key={path}
          path={path}
          file={files.get(path)}
          problems={own}
          isNamed={files.size > 1}
        />
      ))}
    </Panel>
  );
}

type InProps = {
  path: string;
  file: File | undefined;
  problems: readonly Problem[];
  isNamed: boolean;
};

/** The problems of a file below their lines, then the problems without a line. */
function ProblemsIn({ path, file, problems, isNamed }: InProps) {
  const { data: text = "" } = useQuery({
    queryKey: ["file", path, file?.size, file?.lastModified],
    queryFn: () => file?.text() ?? "",
    staleTime: Number.POSITIVE_INFINITY,
  });
  const lines = tokensOf(text, path);
  const excerpts = excerptsOf(problems, lines.length);
  const shown = new Set(excerpts.flatMap((excerpt) => excerpt.problems));
  return (
    <>
      {isNamed && <h3 className="mt-1 min-w-0 font-mono text-small wrap-anywhere">{path}</h3>}
      {excerpts.map(({ from, to, problems: own }) => (
        <div
          key={from}
          className="overflow-hidden rounded-md border py-2"
          role="group"
          aria-label={`${path}, line ${own[0]?.line}`}
        >
          {lines.slice(from - 1, to).map((tokens, at) => (
            <ExcerptLine
              key={from + at}
              number={from + at}
              tokens={tokens}
              problems={own.filter(({ line }) => line === from + at)}
            />
          ))}
        </div>
      ))}
      {problems
        .filter((problem) => !shown.has(problem))
        .map((problem) => (
          <ProblemText key={`${problem.line} ${problem.message}`} problem={problem} />
        ))}
    </>
  );
}

type LineProps = { number: number; tokens: readonly Token[]; problems: readonly Problem[] };

function ExcerptLine({ number, tokens, problems }: LineProps) {
  return (
    <>
      <div className="overflow-x-auto scrollbar-none">
        <SourceLine number={number} tokens={tokens} isMarked={problems.length > 0} />
      </div>
      {problems.map((problem) => (
        <ProblemText key={`${problem.column} ${problem.message}`} problem={problem} />
      ))}
    </>
  );
}

const ProblemText = ({ problem: { line, column, message } }: { problem: Problem }) => (
  <p className="mt-0.5 mb-1 py-1 pr-4 pl-14 wrap-anywhere text-red max-sm:pl-4">
    <span className="font-semibold">
      Line {line}
      {column !== null && `, column ${column}`}
    </span>{" "}
    {message}
  </p>
);

/** A problem of a file. Lines and columns count from 1; null means unknown. */
type Problem = {
  file: string | null;
  line: number | null;
  column: number | null;
  message: string;
};

/** The problems of an error in the order of lines; problems without a position come first. */
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
  const position = /^(\d+)(?::(\d+))?:?\s*/.exec(rest);
  if (!position) return { file, line: null, column: null, message: rest.trim() };
  return {
    file,
    line: Number(position[1]),
    column: position[2] === undefined ? null : Number(position[2]),
    message: rest.slice(position[0].length),
  };
}

/** Consecutive lines with their problems. */
type Excerpt = { from: number; to: number; problems: Problem[] };

/** The excerpts of a text around its problems. */
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
