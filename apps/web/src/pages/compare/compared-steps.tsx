import type { Step, ThreadDiff } from "@uncaged/workflow-server/api-types";
import { useDeferredValue, useMemo, useState } from "react";
import { count, roleName } from "../../lib/format.ts";
import { formatJson } from "../../lib/json.ts";
import { Button } from "../../ui/button.tsx";
import { LineDiff } from "../../ui/diff.tsx";
import { Prose } from "../../ui/prose.tsx";
import { Empty } from "../../ui/states.tsx";

const atOnce = 50;

/** The steps of two threads: different steps in full, equal steps as one line. */
export function ComparedSteps({ pairs }: { pairs: readonly Pair[] }) {
  const rows = useMemo(() => rowsOf(pairs), [pairs]);
  const [shown, setShown] = useState(atOnce);
  if (rows.length === 0) return <Empty title="No steps yet" />;
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
        <Button onClick={() => setShown(shown + atOnce)}>Show more differences</Button>
      )}
    </>
  );
}

const mostNames = 200;

function SameSteps({ pairs }: { pairs: readonly Pair[] }) {
  const [first, last] = [pairs[0]?.number ?? 0, pairs.at(-1)?.number ?? 0];
  const title = first === last ? `Step ${first} is` : `Steps ${count(first)} to ${count(last)} are`;
  return (
    <details className="min-w-0 rounded-md border bg-sunken px-4 py-2 text-muted">
      <summary>{title} the same</summary>
      <ol className="my-2 grid gap-1">
        {pairs.slice(0, mostNames).map(({ number, a }) => (
          <li key={number} className="truncate">
            <span className="text-faint">{number}</span> {roleName(a?.role ?? "")}
            <span className="ml-2 text-faint">{a?.content.slice(0, 160)}</span>
          </li>
        ))}
        {pairs.length > mostNames && <li>and {count(pairs.length - mostNames)} more</li>}
      </ol>
    </details>
  );
}

function StepPair({ pair: { number, a, b } }: { pair: Pair }) {
  // Comparing fifty pairs of long texts takes seconds, so the page first shows the steps without differences.
  const isCompared = useDeferredValue(true, false);
  const [before, after] = [metaOf(a), metaOf(b)];
  const roles = [...new Set([a, b].flatMap((step) => (step ? roleName(step.role) : [])))];
  return (
    <section
      className="flex min-w-0 flex-col gap-2 rounded-md border bg-surface px-4 py-3"
      aria-label={`Step ${number}`}
    >
      <h2 className="flex flex-wrap items-baseline gap-2">
        <span className="text-faint">{number}</span> {roles.join(" → ")}
        {!(a && b) && (
          <span className="text-small font-normal text-muted">only in {a ? "A" : "B"}</span>
        )}
      </h2>
      {a && b && a.content === b.content ? (
        <Prose text={a.content} />
      ) : (
        isCompared && (
          <LineDiff
            before={a?.content ?? ""}
            after={b?.content ?? ""}
            label={`Content of step ${number}`}
          />
        )
      )}
      {before !== after && isCompared && (
        <>
          <h3 className="text-small font-semibold text-faint">Meta</h3>
          <LineDiff before={before} after={after} label={`Meta of step ${number}`} />
        </>
      )}
    </section>
  );
}

const metaOf = (step: Step | null): string =>
  step && Object.keys(step.meta).length > 0 ? (formatJson(step.meta) ?? "") : "";

type Pair = ThreadDiff["steps"][number];

/** Consecutive pairs of equal steps, or one pair of different steps. */
type Row = { kind: "same"; pairs: Pair[] } | { kind: "different"; pair: Pair };

/** The rows of a comparison, with equal steps grouped. */
export function rowsOf(pairs: readonly Pair[]): Row[] {
  const rows: Row[] = [];
  for (const pair of pairs) {
    const last = rows.at(-1);
    if (!pair.same) rows.push({ kind: "different", pair });
    else if (last?.kind === "same") last.pairs.push(pair);
    else rows.push({ kind: "same", pairs: [pair] });
  }
  return rows;
}
