import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import type { Ledger, Thread, ThreadDiff } from "@uncaged/workflow-server/api-types";
import { ArrowLeftRight } from "lucide-react";
import { changesOf, ValueChanges } from "../../thread/detail/state-changes.tsx";
import { Thrown } from "../../thread/detail/thrown.tsx";
import { StatusBadge } from "../../thread/status/status.tsx";
import { cost, count, duration, moment, tokens } from "../../lib/format.ts";
import { isRecord } from "../../lib/json.ts";
import { subjectIn } from "../../lib/thread-log.ts";
import { diffQuery, isEnded, ledgerQuery, threadQuery } from "../../lib/threads.ts";
import { ButtonLink } from "../../ui/button.tsx";
import { LineDiff } from "../../ui/diff.tsx";
import { Page, Part, useTitle } from "../../ui/page.tsx";
import { FailureNotice, Skeleton } from "../../ui/states.tsx";
import { ComparedFiles } from "./compared-files.tsx";
import { ComparedSteps } from "./compared-steps.tsx";

const readAgainMs = 2_000;

export function ComparePage() {
  const { id, other } = useParams({ from: "/threads/$id/compare/$other" });
  useTitle("Compare");
  const left = useQuery({ ...threadQuery(id), refetchInterval: readAgainMs });
  const right = useQuery({ ...threadQuery(other), refetchInterval: readAgainMs });
  const mayGrow = [left.data, right.data].some((thread) => thread && !isEnded(thread.status));
  const refetchInterval = mayGrow && readAgainMs;
  const diff = useQuery({ ...diffQuery(id, other), refetchInterval });
  const a = { thread: left.data, ledger: useQuery({ ...ledgerQuery(id), refetchInterval }).data };
  const b = {
    thread: right.data,
    ledger: useQuery({ ...ledgerQuery(other), refetchInterval }).data,
  };
  const error = left.error ?? right.error ?? diff.error;
  const isLoaded = left.data && right.data && diff.data;
  return (
    <Page
      title="Compare two threads"
      note={isLoaded && verdictOf(diff.data, paramsDiffer(left.data, right.data))}
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
      {!error && !isLoaded && <Skeleton lines={10} />}
      {isLoaded && (
        <div className="flex min-w-0 flex-col gap-6">
          <Figures a={a} b={b} />
          {!diff.data.prompt.same && (
            <Part title="Prompt">
              <LineDiff before={diff.data.prompt.a} after={diff.data.prompt.b} label="Prompts" />
            </Part>
          )}
          {paramsDiffer(left.data, right.data) && (
            <Part title="Params">
              <ValueChanges before={valuesOf(left.data)} after={valuesOf(right.data)} />
            </Part>
          )}
          {(left.data.failure ?? right.data.failure) && (
            <Part title="Errors">
              <div className="grid grid-cols-2 gap-x-6 gap-y-3 *:min-w-0 max-md:grid-cols-1">
                <Failure thread={left.data} />
                <Failure thread={right.data} />
              </div>
            </Part>
          )}
          <Part title="Steps">
            <ComparedSteps pairs={diff.data.steps} />
          </Part>
          <ComparedFiles trees={diff.data.files} />
        </div>
      )}
    </Page>
  );
}

type Side = { thread: Thread | undefined; ledger: Ledger | undefined };

function Figures({ a, b }: { a: Side; b: Side }) {
  if (!a.thread || !b.thread) return null;
  const rows: [label: string, of: (side: Side) => number | null, as: (value: number) => string][] =
    [
      ["Steps", ({ thread }) => thread?.stepCount ?? null, count],
      ["Worked", ({ thread }) => thread?.workedMs ?? null, duration],
      ["Waited", ({ thread }) => thread?.waitedMs ?? null, duration],
      ["Tokens", ({ ledger }) => ledger?.total.tokens ?? null, tokens],
      ["Cost", ({ ledger }) => ledger?.total.cost ?? null, cost],
    ];
  return (
    <table className="w-full table-fixed border-collapse text-left [&_:is(th,td)]:border-b [&_:is(th,td)]:py-2 [&_:is(th,td)]:pr-4 [&_:is(th,td)]:align-top">
      <colgroup>
        <col className="w-24 max-sm:w-16" />
        <col />
        <col />
        <col className="w-40 max-sm:hidden" />
      </colgroup>
      <thead>
        <tr>
          <td />
          <Head name="A" thread={a.thread} />
          <Head name="B" thread={b.thread} />
          <th scope="col" className="text-small font-normal text-muted max-sm:hidden">
            Difference
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map(([label, of, as]) => {
          const [inA, inB] = [of(a), of(b)];
          if (!inA && !inB) return null;
          const difference = inA === null || inB === null ? "" : differenceOf(inA, inB, as);
          return (
            <tr key={label}>
              <th scope="row" className="font-normal text-muted">
                {label}
              </th>
              <td>{inA === null ? "" : as(inA)}</td>
              <td>
                {inB === null ? "" : as(inB)}
                <span className="block text-small text-muted sm:hidden">{difference}</span>
              </td>
              <td className="text-muted max-sm:hidden">{difference}</td>
            </tr>
          );
        })}
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
