import { useMemo } from "react";
import { counted } from "../format/amount.ts";
import styles from "./diff.module.css";
import { type DiffLine, diffOf } from "./lines.ts";

const signs = { same: " ", added: "+", removed: "−" } as const;

type Props = { before: string; after: string; label: string };

/** What changed from one text to another, as a patch. */
export function LineDiff({ before, after, label }: Props) {
  const lines = useMemo(() => diffOf(before, after), [before, after]);
  if (!lines) return <p className={styles.note}>The two are too different to be compared.</p>;
  if (lines.every(({ kind }) => kind === "same" || kind === "skipped")) {
    return <p className={styles.note}>The two are the same.</p>;
  }
  return (
    <div className={styles.patch} role="region" aria-label={label} tabIndex={0}>
      <div className={styles.lines}>
        {lines.map((line) => (
          <Line key={line.key} line={line} />
        ))}
      </div>
    </div>
  );
}

function Line({ line }: { line: DiffLine }) {
  if (line.kind === "skipped") {
    return <div className={styles.skipped}>{counted(line.count, "line")} as before</div>;
  }
  return (
    <div className={`${styles.line} ${styles[line.kind]}`}>
      <span className={styles.sign} aria-hidden>
        {signs[line.kind]}
      </span>
      {line.kind !== "same" && <span className="unseen">{line.kind}: </span>}
      {line.text}
    </div>
  );
}
