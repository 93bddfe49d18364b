import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import type { Step, Thread, ThreadDiff } from "@uncaged/workflow-server/api-types";
import { ArrowLeftRight } from "lucide-react";
import { useDeferredValue, useMemo, useState } from "react";
import { StatusBadge } from "../../thread/status/status.tsx";
import { count, counted, roleName } from "../../lib/format.ts";
import { formatJson } from "../../lib/json.ts";
import { diffQuery, isEnded, threadQuery } from "../../lib/threads.ts";
import { Button, ButtonLink } from "../../ui/button.tsx";
import { type Piece, Pieces, piecesOf } from "../../ui/diff.tsx";
import { Page, useTitle } from "../../ui/page.tsx";
import { ComparedFiles } from "./compared-files.tsx";
import { Empty, FailureNotice, Skeleton } from "../../ui/states.tsx";

const readAgainMs = 2_000;

export function ComparePage() {
  const { id, other } = useParams({ from: "/threads/$id/compare/$other" });
  useTitle("Compare");
  const left = useQuery({ ...threadQuery(id), refetchInterval: readAgainMs });
  const right = useQuery({ ...threadQuery(other), refetchInterval: readAgainMs });
  const mayGrow = [left.data, right.data].some((thread) => thread && !isEnded(thread.status));
  const diff = useQuery({ ...diffQuery(id, other), refetchInterval: mayGrow && readAgainMs });
  const error = left.error ?? right.error ?? diff.error;
  return (
    <Page
      title="Compare two threads"
      note={diff.data && verdictOf(diff.data)}
      actions={
        <ButtonLink
          to="/threads/$id/compare/$other"
          params={{ id: other, other: id }}
          icon={<ArrowLeftRight />}
        >
          Swap sides
        </ButtonLink>
      }
    >
      {error && <FailureNotice error={error} onRetry={() => void diff.refetch()} />}
      {!error && !(left.data && right.data && diff.data) && <Skeleton lines={10} />}
      {left.data && right.data && diff.data && (
        <div className="flex flex-col gap-2">
          <div className="sticky top-below z-5 grid grid-cols-2 gap-2 bg-page py-2 max-md:static">
            <ComparedThread thread={left.data} side="a" />
            <ComparedThread thread={right.data} side="b" />
          </div>
          {!diff.data.prompt.same && (
            <section className="rounded-md border bg-surface px-4 py-3" aria-label="Prompts">
              <h2 className="mb-1">Prompt</h2>
              <TextPair a={diff.data.prompt.a} b={diff.data.prompt.b} />
            </section>
          )}
          <PairList pairs={diff.data.steps} />
          <ComparedFiles trees={diff.data.files} />
        </div>
      )}
    </Page>
  );
}

/** Border classes of the two sides. Narrow windows stack the sides. */
const edges = { a: "max-md:border-l-red", b: "max-md:border-l-green" } as const;

const sides = { a: "left", b: "right" } as const;

type ComparedThreadProps = { thread: Thread; side: "a" | "b" };

function ComparedThread({ thread, side }: ComparedThreadProps) {
  const { threadId, workflow, hash, status, stepCount, forkFrom } = thread;
  return (
    <section
      className={`min-w-0 rounded-md border border-t-2 bg-surface px-4 py-3 shadow-sm ${side === "a" ? "border-t-red" : "border-t-green"}`}
      aria-label={`The ${sides[side]} thread`}
    >
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1 wrap-anywhere">
        <StatusBadge status={status} />
        <Link to="/threads/$id" params={{ id: threadId }} className="mono">
          {threadId}
        </Link>
      </div>
      <p className="mt-1 flex flex-wrap gap-x-3 gap-y-0.5 text-muted">
        <span>{workflow}</span>
        <span className="mono">{hash.slice(0, 6)}</span>
        <span>{counted(stepCount, "step")}</span>
        {forkFrom && <span>forked after step {forkFrom.steps}</span>}
      </p>
    </section>
  );
}

const atOnce = 50;

/** The steps of two threads: different steps in full, equal steps as one line. */
function PairList({ pairs }: { pairs: readonly Pair[] }) {
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

function StepPair({ pair }: { pair: Pair }) {
  const { number, a, b } = pair;
  // Comparing fifty pairs of long texts takes seconds, so the page first shows the texts without marks.
  const isCompared = useDeferredValue(true, false);
  const both = a !== null && b !== null && isCompared;
  const content = useMemo(() => (both ? piecesOf(a.content, b.content) : null), [both, a, b]);
  const meta = useMemo(() => (both ? piecesOf(metaOf(a), metaOf(b)) : null), [both, a, b]);
  return (
    <section
      className="grid grid-cols-2 gap-2 max-md:mb-2 max-md:grid-cols-1 max-md:gap-1"
      aria-label={`Step ${number}`}
    >
      {(["a", "b"] as const).map((side) => {
        const step = pair[side];
        if (!step) {
          return (
            <div
              key={side}
              className={`${box} items-center justify-center border-dashed text-faint`}
            >
              No step {number}
            </div>
          );
        }
        const isOther = both && a.role !== b.role;
        const metaText = metaOf(step);
        return (
          <div key={side} className={`${box} bg-surface max-md:border-l-2 ${edges[side]}`}>
            <h2 className="flex items-baseline gap-2">
              <span className="text-faint">{number}</span>{" "}
              <Pieces pieces={[{ text: roleName(step.role), isChanged: isOther }]} side={side} />
            </h2>
            <Pieces pieces={content?.[side] ?? unmarked(step.content)} side={side} />
            {metaText !== "" && (
              <div className="border-t pt-2 text-small">
                <h3 className="text-small font-semibold text-faint">Meta</h3>
                <Pieces pieces={meta?.[side] ?? unmarked(metaText)} side={side} code />
              </div>
            )}
          </div>
        );
      })}
    </section>
  );
}

const box = "flex min-w-0 flex-col gap-2 rounded-md border px-4 py-3";

const unmarked = (text: string): Piece[] => [{ text, isChanged: false }];

const metaOf = ({ meta }: Step): string =>
  Object.keys(meta).length > 0 ? (formatJson(meta) ?? "") : "";

function TextPair({ a, b }: { a: string; b: string }) {
  const pieces = useMemo(() => piecesOf(a, b), [a, b]);
  return (
    <div className="grid grid-cols-2 gap-2 max-md:grid-cols-1">
      <Pieces pieces={pieces.a} side="a" />
      <Pieces pieces={pieces.b} side="b" />
    </div>
  );
}

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

export function verdictOf({ same, prompt, steps }: ThreadDiff): string {
  if (same) return "Both have the same steps.";
  const differing = steps.filter((pair) => !pair.same).length;
  const first = steps.find((pair) => !pair.same)?.number;
  const prompts = prompt.same ? "" : "Their prompts differ. ";
  if (first === undefined) return `${prompts}Their steps are the same.`;
  const until =
    first === 1
      ? "They differ from the first step on"
      : `They are the same up to step ${first - 1}`;
  const differ = differing === 1 ? "1 step differs" : `${differing} steps differ`;
  return `${prompts}${until}; ${differ}.`;
}
