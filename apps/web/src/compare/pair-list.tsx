import { useMemo, useState } from "react";
import { Button } from "../controls/button.tsx";
import { count } from "../format/amount.ts";
import { roleName } from "../format/role.ts";
import { Empty } from "../states/empty.tsx";
import styles from "./compare.module.css";
import { type Pair, rowsOf } from "./pairs.ts";
import { StepPair } from "./step-pair.tsx";

const atOnce = 50;

/** The steps of two threads: those that differ in full, those that do not in a line. */
export function PairList({ pairs }: { pairs: readonly Pair[] }) {
  const rows = useMemo(() => rowsOf(pairs), [pairs]);
  const [shown, setShown] = useState(atOnce);
  if (rows.length === 0) return <Empty title="Neither has a step yet" />;
  return (
    <>
      {rows
        .slice(0, shown)
        .map((row) =>
          row.kind === "same" ? (
            <SameSteps key={row.pairs[0]?.number} pairs={row.pairs} />
          ) : (
            <StepPair key={row.pair.number} pair={row.pair} />
          ),
        )}
      {rows.length > shown && (
        <Button onClick={() => setShown(shown + atOnce)}>Show more of what differs</Button>
      )}
    </>
  );
}

const mostNames = 200;

function SameSteps({ pairs }: { pairs: readonly Pair[] }) {
  const [first, last] = [pairs[0]?.number ?? 0, pairs.at(-1)?.number ?? 0];
  const title = first === last ? `Step ${first} is` : `Steps ${count(first)} to ${count(last)} are`;
  return (
    <details className={styles.same}>
      <summary>{title} the same</summary>
      <ol>
        {pairs.slice(0, mostNames).map(({ number, a }) => (
          <li key={number}>
            <span className={styles.number}>{number}</span> {roleName(a?.role ?? "")}
            <span className={styles.excerpt}>{a?.content.slice(0, 160)}</span>
          </li>
        ))}
        {pairs.length > mostNames && <li>and {count(pairs.length - mostNames)} more</li>}
      </ol>
    </details>
  );
}
