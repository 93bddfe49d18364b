import { SourceLine } from "../source/line.tsx";
import { type Token, tokensOf } from "../source/tokens.ts";
import styles from "./add.module.css";
import { type Excerpt, excerptsOf, type Problem } from "./problems.ts";

type Props = {
  path: string;
  text: string;
  /** Those of the file, each with its line. */
  problems: readonly Problem[];
};

/** What is wrong with a file, each thing below its line; below them what stands at no line of it. */
export function FileExcerpts({ path, text, problems }: Props) {
  const lines = tokensOf(text, path);
  const excerpts = excerptsOf(problems, lines.length);
  const shown = new Set(excerpts.flatMap((excerpt) => excerpt.problems));
  return (
    <>
      {excerpts.map((excerpt) => (
        <ExcerptView key={excerpt.from} path={path} excerpt={excerpt} lines={lines} />
      ))}
      {problems
        .filter((problem) => !shown.has(problem))
        .map((problem) => (
          <ProblemText key={`${problem.line} ${problem.message}`} problem={problem} />
        ))}
    </>
  );
}

type ViewProps = { path: string; excerpt: Excerpt; lines: readonly Token[][] };

function ExcerptView({ path, excerpt: { from, to, problems }, lines }: ViewProps) {
  return (
    <div className={styles.excerpt} role="group" aria-label={`${path}, line ${problems[0]?.line}`}>
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
      {problems.map((problem) => (
        <ProblemText key={`${problem.column} ${problem.message}`} problem={problem} />
      ))}
    </>
  );
}

const ProblemText = ({ problem: { line, column, message } }: { problem: Problem }) => (
  <p className={styles.problem}>
    <span className={styles.place}>
      Line {line}
      {column !== null && `, column ${column}`}
    </span>{" "}
    {message}
  </p>
);
