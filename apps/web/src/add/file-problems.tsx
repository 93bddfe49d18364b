import { useQuery } from "@tanstack/react-query";
import { CircleX } from "lucide-react";
import { ApiError } from "../api/request.ts";
import { counted } from "../format/amount.ts";
import { SourceLine } from "../source/line.tsx";
import { type Token, tokensOf } from "../source/tokens.ts";
import { FailureNotice } from "../states/failure.tsx";
import styles from "./add.module.css";
import { type Excerpt, excerptsOf, type Problem, problemsOf } from "./problems.ts";

type Props = {
  error: Error;
  /** The name that the file was sent under. */
  file: string;
  source: File;
};

/** Why a file was refused, each thing at its line. */
export function FileProblems({ error, file, source }: Props) {
  const { data: text = "" } = useQuery({
    queryKey: ["file", source.name, source.size, source.lastModified],
    queryFn: () => source.text(),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const problems = problemsOf(error, file);
  const lines = tokensOf(text, file);
  const excerpts = excerptsOf(problems, lines.length);
  if (excerpts.length === 0) return <FailureNotice error={error} />;
  const shown = new Set(excerpts.flatMap((excerpt) => excerpt.problems));
  const hint = error instanceof ApiError ? error.hint : null;
  return (
    <section className={styles.problems} role="alert" aria-label="What is wrong">
      <h2>
        <CircleX aria-hidden />
        {file} was not added: {counted(problems.length, "fault")}
      </h2>
      {hint && <p className={styles.hint}>{hint[0]?.toUpperCase() + hint.slice(1)}.</p>}
      <ul>
        {problems
          .filter((problem) => !shown.has(problem))
          .map(({ message }) => (
            <li key={message}>{message}</li>
          ))}
      </ul>
      {excerpts.map((excerpt) => (
        <ExcerptView key={excerpt.from} excerpt={excerpt} lines={lines} />
      ))}
    </section>
  );
}

function ExcerptView({ excerpt, lines }: { excerpt: Excerpt; lines: readonly Token[][] }) {
  const { from, to, problems } = excerpt;
  return (
    <div className={styles.excerpt} role="group" aria-label={`Line ${problems[0]?.line}`}>
      {lines.slice(from - 1, to).map((tokens, at) => (
        <ExcerptLine
          key={from + at}
          number={from + at}
          tokens={tokens}
          problems={problems.filter(({ line }) => line === from + at)}
        />
      ))}
    </div>
  );
}

type LineProps = { number: number; tokens: readonly Token[]; problems: readonly Problem[] };

function ExcerptLine({ number, tokens, problems }: LineProps) {
  return (
    <>
      <div className={styles.scroll}>
        <SourceLine number={number} tokens={tokens} isMarked={problems.length > 0} />
      </div>
      {problems.map(({ line, column, message }) => (
        <p key={`${column} ${message}`} className={styles.problem}>
          <span className={styles.place}>
            Line {line}
            {column !== null && `, column ${column}`}
          </span>{" "}
          {message}
        </p>
      ))}
    </>
  );
}
