import { useQueries, useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import type { Ledger, Thread, ThreadDiff, Step } from "@uncaged/workflow-server/api-types";
import { changesOf, ValueChanges } from "../../thread/detail/state-changes.tsx";
import { Thrown } from "../../thread/detail/thrown.tsx";
import { StatusBadge } from "../../thread/status/status.tsx";
import { cost, count, counted, duration, moment, roleName, tokens } from "../../lib/format.ts";
import { formatJson, isRecord } from "../../lib/json.ts";
import { subjectIn } from "../../lib/thread-log.ts";
import { diffQuery, isEnded, ledgerQuery, threadQuery } from "../../lib/threads.ts";
import { LineDiff, PatchLines } from "../../ui/diff.tsx";
import { Page, Part, useTitle } from "../../ui/page.tsx";
import { Empty, FailureNotice, Skeleton } from "../../ui/states.tsx";
import { More } from "../../ui/more.tsx";
import { useDeferredValue, useMemo } from "react";
import { Prose } from "../../ui/prose.tsx";

const readAgainMs = 2_000;

export function ComparePage() {
  const { id, other } = useParams({ from: "/threads/$id/compare/$other" });
  useTitle("Compare");
  const [left, right] = useQueries({
    queries: [id, other].map((one) => ({ ...threadQuery(one), refetchInterval: readAgainMs })),
  });
  const mayGrow = [left, right].some((one) => one?.data && !isEnded(one.data.status));
  const refetchInterval = mayGrow && readAgainMs;
  const diff = useQuery({ ...diffQuery(id, other), refetchInterval });
  const ledgers = useQueries({
    queries: [id, other].map((one) => ({ ...ledgerQuery(one), refetchInterval })),
  });
  const [a, b] = [left?.data, right?.data];
  const isLoaded = a && b && diff.data;
  const error = left?.error ?? right?.error ?? diff.error;
  return (
    <Page title="Compare two threads" note={isLoaded && verdictOf(diff.data, paramsDiffer(a, b))}>
      {error && <FailureNotice error={error} onRetry={() => void diff.refetch()} />}
      {!error && !isLoaded && <Skeleton lines={10} />}
      {isLoaded && (
        <div className="flex min-w-0 flex-col gap-6">
          <Figures threads={[a, b]} ledgers={ledgers.map(({ data }) => data)} />
          <Differences a={a} b={b} diff={diff.data} />
        </div>
      )}
    </Page>
  );
}

type DifferencesProps = { a: Thread; b: Thread; diff: ThreadDiff };

function Differences({ a, b, diff: { prompt, steps, files } }: DifferencesProps) {
  return (
    <>
      {!prompt.same && (
        <Part title="Prompt">
          <LineDiff before={prompt.a} after={prompt.b} label="Prompts" />
        </Part>
      )}
      {paramsDiffer(a, b) && (
        <Part title="Params">
          <ValueChanges before={valuesOf(a)} after={valuesOf(b)} />
        </Part>
      )}
      {(a.failure ?? b.failure) && (
        <Part title="Errors">
          <div className="grid grid-cols-2 gap-x-6 gap-y-3 *:min-w-0 max-md:grid-cols-1">
            <Failure thread={a} />
            <Failure thread={b} />
          </div>
        </Part>
      )}
      <Part title="Steps">
        <ComparedSteps pairs={steps} />
      </Part>
      {files.map((tree) => (
        <ComparedTree key={`${tree.name} ${tree.repository}`} tree={tree} />
      ))}
    </>
  );
}

type Amount = number | undefined;

type FiguresProps = { threads: readonly Thread[]; ledgers: readonly (Ledger | undefined)[] };

function Figures({ threads, ledgers }: FiguresProps) {
  const rows: [label: string, of: readonly Amount[], as: (value: number) => string][] = [
    ["Steps", threads.map(({ stepCount }) => stepCount), count],
    ["Worked", threads.map(({ workedMs }) => workedMs), duration],
    ["Waited", threads.map(({ waitedMs }) => waitedMs), duration],
    ["Tokens", ledgers.map((ledger) => ledger?.total.tokens), tokens],
    ["Cost", ledgers.map((ledger) => ledger?.total.cost), cost],
  ];
  return (
    <table className="w-full table-fixed border-collapse text-left [&_:is(th,td)]:border-b [&_:is(th,td)]:py-2 [&_:is(th,td)]:pr-4 [&_:is(th,td)]:align-top">
      <colgroup>
        <col className="w-24 max-sm:w-16" />
      </colgroup>
      <thead>
        <tr>
          <td />
          {threads.map((thread, at) => (
            <Head key={at} name={at === 0 ? "A" : "B"} thread={thread} />
          ))}
        </tr>
      </thead>
      <tbody>
        {rows
          .filter(([, of]) => of.some(Boolean))
          .map(([label, [inA, inB], as]) => (
            <tr key={label}>
              <th scope="row" className="font-normal text-muted">
                {label}
              </th>
              <td>{inA !== undefined && as(inA)}</td>
              <td>
                {inB !== undefined && as(inB)}
                <span className="ml-4 text-muted max-sm:ml-0 max-sm:block max-sm:text-small">
                  {inA !== undefined && inB !== undefined && differenceOf(inA, inB, as)}
                </span>
              </td>
            </tr>
          ))}
      </tbody>
    </table>
  );
}

/** The difference of two amounts with its sign and share: `+1.2 s (+40%)`. */
export function differenceOf(a: number, b: number, as: (value: number) => string): string {
  if (a === b) return "same";
  const sign = b > a ? "+" : "−";
  const share = a > 0 ? ` (${sign}${Math.round((Math.abs(b - a) / a) * 100)}%)` : "";
  return `${sign}${as(Math.abs(b - a))}${share}`;
}

function Head({ name, thread }: { name: string; thread: Thread }) {
  const { threadId, workflow, hash, status, createdAt, forkFrom } = thread;
  return (
    <th scope="col" className="font-normal" aria-label={`Thread ${name}`}>
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <span className="font-semibold text-muted">{name}</span>
        <StatusBadge status={status} />
      </div>
      <Link
        to="/threads/$id"
        params={{ id: threadId }}
        className="mt-1 line-clamp-2 font-semibold wrap-anywhere max-sm:min-h-10"
      >
        {subjectIn(thread)}
      </Link>
      <p className="text-small text-muted wrap-anywhere">
        {workflow} <code>{hash.slice(0, 6)}</code>, {moment(createdAt)}
        {forkFrom && `, forked after step ${forkFrom.steps}`}
      </p>
    </th>
  );
}

type Values = Readonly<Record<string, unknown>>;

const valuesOf = ({ params }: Thread): Values =>
  isRecord(params) ? params : params === undefined ? {} : { params };

const paramsDiffer = (a: Thread, b: Thread): boolean =>
  changesOf(valuesOf(a), valuesOf(b)).length > 0;

function Failure({ thread: { failure, result } }: { thread: Thread }) {
  if (!failure) return <p className="text-faint">No error.</p>;
  const { step, role, at, name } = failure;
  return (
    <div className="flex flex-col gap-1">
      <p className="text-small text-muted">
        At step {step}
        {typeof role === "string" && `, ${role}`}
      </p>
      <Thrown error={{ name, message: result?.summary ?? "", ...(at && { at }) }} />
    </div>
  );
}

export function verdictOf({ same, prompt, steps }: ThreadDiff, hasOtherParams: boolean): string {
  if (same && !hasOtherParams) return "Both have the same steps.";
  const differing = steps.filter((pair) => !pair.same).length;
  const first = steps.find((pair) => !pair.same)?.number;
  const starts = [...(prompt.same ? [] : ["prompts"]), ...(hasOtherParams ? ["params"] : [])];
  const prompts = starts.length === 0 ? "" : `Their ${starts.join(" and ")} differ. `;
  if (first === undefined) return `${prompts}Their steps are the same.`;
  const until =
    first === 1
      ? "They differ from the first step on"
      : `They are the same up to step ${first - 1}`;
  const differ = differing === 1 ? "1 step differs" : `${differing} steps differ`;
  return `${prompts}${until}; ${differ}.`;
}

type Tree = ThreadDiff["files"][number];
type File = Tree["files"][number];

const openAtFirst = 10;
const filesAtOnce = 50;

/** The files of two threads with git worktrees, after the last step of each. */
function ComparedTree({ tree }: { tree: Tree }) {
  const { name, repository, files, problem } = tree;
  const differ = files.length === 1 ? "1 file differs" : `${counted(files.length, "file")} differ`;
  return (
    <section
      className="min-w-0 rounded-md border bg-surface px-4 py-3"
      aria-label={`Files of ${name}`}
    >
      <h2>Files of {name}</h2>
      <p className="mb-1 text-muted wrap-anywhere">
        {problem ?? (files.length === 0 ? "They are the same" : differ)} · {repository}
      </p>
      <div className="flex flex-col gap-2">
        <More of={files} atOnce={filesAtOnce} label={() => "Show more files"}>
          {(shown) =>
            shown.map((file) => (
              <ComparedFile key={file.path} file={file} isOpen={files.length <= openAtFirst} />
            ))
          }
        </More>
      </div>
    </section>
  );
}

function ComparedFile({ file, isOpen }: { file: File; isOpen: boolean }) {
  const { path, from, change, patch } = file;
  const hasLines = patch?.includes("\n@@ ") ?? false;
  return (
    <details open={isOpen}>
      <summary className="wrap-anywhere">
        <span className="mono">{from === null ? path : `${from} → ${path}`}</span>{" "}
        <span className="text-muted">{change}</span>
      </summary>
      {patch !== null && hasLines ? (
        <PatchLines patch={patch} label={`Changes of ${path}`} />
      ) : (
        <p className="text-muted">
          {patch === null ? "It is binary or too large to be shown." : "None of its lines differ."}
        </p>
      )}
    </details>
  );
}

const stepsAtOnce = 50;

/** The steps of two threads: different steps in full, equal steps as one line. */
function ComparedSteps({ pairs }: { pairs: readonly Pair[] }) {
  const rows = useMemo(() => rowsOf(pairs), [pairs]);
  if (rows.length === 0) return <Empty title="No steps yet" />;
  return (
    <More of={rows} atOnce={stepsAtOnce} label={() => "Show more differences"}>
      {(shown) =>
        shown.map((row) =>
          row.kind === "same" ? (
            <SameSteps key={row.pairs[0]?.number} pairs={row.pairs} />
          ) : (
            <StepPair key={row.pair.number} pair={row.pair} />
          ),
        )
      }
    </More>
  );
}

function SameSteps({ pairs }: { pairs: readonly Pair[] }) {
  const [first, last] = [pairs[0]?.number ?? 0, pairs.at(-1)?.number ?? 0];
  const title = first === last ? `Step ${first} is` : `Steps ${count(first)} to ${count(last)} are`;
  return <p className="rounded-md border bg-sunken px-4 py-2 text-muted">{title} the same</p>;
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
