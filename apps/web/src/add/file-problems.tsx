import { useQuery } from "@tanstack/react-query";
import { CircleX } from "lucide-react";
import { ApiError } from "../api/request.ts";
import { counted } from "../format/amount.ts";
import { FailureNotice } from "../states/failure.tsx";
import styles from "./add.module.css";
import { FileExcerpts } from "./file-excerpts.tsx";
import type { Upload } from "./files.ts";
import { type Problem, problemsOf } from "./problems.ts";

type Props = { error: Error; upload: Upload };

/** Why files were refused, each thing at its file and line. */
export function FileProblems({ error, upload: { workflow, files } }: Props) {
  const problems = problemsOf(error, files.keys());
  const placed = problems.filter(({ file, line }) => file !== null && line !== null);
  if (placed.length === 0) return <FailureNotice error={error} />;
  const byFile = Map.groupBy(placed, ({ file }) => file ?? workflow);
  const hint = error instanceof ApiError ? error.hint : null;
  return (
    <section className={styles.problems} role="alert" aria-label="What is wrong">
      <h2>
        <CircleX aria-hidden />
        {workflow} was not added: {counted(problems.length, "fault")}
      </h2>
      {hint && <p className={styles.hint}>{hint[0]?.toUpperCase() + hint.slice(1)}.</p>}
      <ul>
        {problems
          .filter((problem) => !placed.includes(problem))
          .map(({ message }) => (
            <li key={message}>{message}</li>
          ))}
      </ul>
      {[...byFile].map(([path, faults]) => (
        <ProblemsIn
          key={path}
          path={path}
          file={files.get(path)}
          problems={faults}
          isNamed={files.size > 1}
        />
      ))}
    </section>
  );
}

type InProps = {
  path: string;
  file: File | undefined;
  problems: readonly Problem[];
  isNamed: boolean;
};

function ProblemsIn({ path, file, problems, isNamed }: InProps) {
  const { data: text = "" } = useQuery({
    queryKey: ["file", path, file?.size, file?.lastModified],
    queryFn: () => file?.text() ?? "",
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <>
      {isNamed && <h3 className={`mono ${styles.path}`}>{path}</h3>}
      <FileExcerpts path={path} text={text} problems={problems} />
    </>
  );
}
