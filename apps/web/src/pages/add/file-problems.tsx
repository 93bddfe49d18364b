import { useQuery } from "@tanstack/react-query";
import { CircleX } from "lucide-react";
import { counted } from "../../lib/format.ts";
import { ApiError } from "../../lib/request.ts";
import { Position } from "../../thread/detail/thrown.tsx";
import { Panel } from "../../ui/page.tsx";
import { FailureNotice, sentence } from "../../ui/states.tsx";
import type { Upload } from "./files.ts";

type Props = { error: Error; upload: Upload };

export function FileProblems({ error, upload: { workflow, files } }: Props) {
  const problems = problemsOf(error, files.keys());
  if (problems.every(({ line }) => line === null)) return <FailureNotice error={error} />;
  const hint = error instanceof ApiError ? error.hint : null;
  return (
    <Panel role="alert" aria-label="Problems">
      <h2 className="flex items-center gap-2 wrap-anywhere">
        <CircleX className="text-red" />
        {workflow} was not added: {counted(problems.length, "error")}
      </h2>
      {hint && <p className="text-muted">{sentence(hint)}.</p>}
      <ul className="flex flex-col gap-3">
        {problems.map((problem) => (
          <li key={JSON.stringify(problem)} className="flex min-w-0 flex-col gap-1">
            <p className="text-red wrap-anywhere">{problem.message}</p>
            {problem.file !== null && problem.line !== null && (
              <Source {...problem} file={problem.file} line={problem.line} of={files} />
            )}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** Number of lines to show before and after a line. */
const around = 2;

type SourceProps = { file: string; line: number; column: number | null; of: Upload["files"] };

/** The line of a problem, with the lines around it. */
function Source({ file, line, column, of }: SourceProps) {
  const { size, lastModified } = of.get(file) ?? {};
  const { data: text } = useQuery({
    queryKey: ["file", file, size, lastModified],
    queryFn: () => of.get(file)?.text() ?? "",
    staleTime: Number.POSITIVE_INFINITY,
  });
  const from = Math.max(1, line - around);
  const lines = text?.split("\n").slice(from - 1, line + around) ?? [];
  const frame = lines.length > line - from ? { frame: { from, lines } } : {};
  return <Position at={{ file, line, column: column ?? 1, ...frame }} />;
}

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
