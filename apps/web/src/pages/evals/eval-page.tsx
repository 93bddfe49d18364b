import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import type { Eval } from "@uncaged/workflow-server/api-types";
import { useState } from "react";
import { type CaseFilter, caseFilters, evalQuery } from "../../lib/evals.ts";
import { cost, count, counted, duration, moment } from "../../lib/format.ts";
import { SelectField } from "../../ui/field.tsx";
import { Page, useTitle } from "../../ui/page.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { shownRun, VersionCard } from "./version-card.tsx";
import { Button } from "../../ui/button.tsx";

export function EvalPage() {
  const { id } = useParams({ from: "/evals/$id" });
  const { baseline, show = "all" } = useSearch({ from: "/evals/$id" });
  const [limit, setLimit] = useState(casesAtOnce);
  const query = useQuery(evalQuery(id, baseline, { show, limit }));
  const { data: found } = query;
  const title = found ? found.dataset.file : id;
  useTitle(title);
  const note =
    found &&
    `${counted(found.counts.all, "case")}, scored by ${found.scorer.file}, ${moment(found.createdAt)}`;
  return (
    <Page title={title} note={note}>
      <Loaded query={query} lines={8}>
        {(read) => (
          <>
            <Comparison found={read} />
            <Cases found={read} limit={limit} onLimit={setLimit} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Comparison({ found: { versions, baseline, changes } }: { found: Eval }) {
  const navigate = useNavigate({ from: "/evals/$id" });
  const base = versions.find(({ hash }) => hash === baseline) ?? null;
  const choose = (hash: string) =>
    void navigate({
      search: (before) => ({ ...before, baseline: hash === versions[0]?.hash ? undefined : hash }),
      replace: true,
    });
  return (
    <>
      {versions.length > 1 && (
        <div className="max-w-96">
          <SelectField
            label="Compare with"
            value={baseline ?? ""}
            onChange={({ target }) => choose(target.value)}
          >
            {versions.map(({ hash, workflow }) => (
              <option key={hash} value={hash}>
                {workflow} {hash}
              </option>
            ))}
          </SelectField>
        </div>
      )}
      <ul
        className="grid grid-cols-[repeat(auto-fit,minmax(min(100%,19rem),1fr))] gap-3"
        aria-label="Versions"
      >
        {versions.map((version) => (
          <li key={version.hash}>
            <VersionCard
              version={version}
              baseline={base}
              changes={changes.find(({ hash }) => hash === version.hash) ?? null}
            />
          </li>
        ))}
      </ul>
    </>
  );
}

type Case = Eval["cases"][number];
type Run = Case["runs"][number];

const casesAtOnce = 50;

const labels: Record<CaseFilter, string> = {
  all: "All",
  worse: "Worse",
  better: "Better",
  failing: "Not passed",
  unscored: "Without a score",
};

type CasesProps = { found: Eval; limit: number; onLimit: (limit: number) => void };

/** The first cases of an eval with their runs on each version, which link to their threads. */
function Cases({ found: { cases, counts, versions }, limit, onLimit }: CasesProps) {
  const { show = "all" } = useSearch({ from: "/evals/$id" });
  const navigate = useNavigate({ from: "/evals/$id" });
  const choose = (filter: CaseFilter) => {
    onLimit(casesAtOnce);
    void navigate({
      search: (before) => ({ ...before, show: filter === "all" ? undefined : filter }),
      replace: true,
    });
  };
  return (
    <section className="flex flex-col gap-2" aria-labelledby="cases">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <h2 id="cases">Cases</h2>
        <div className="flex flex-wrap gap-1" role="group" aria-label="Which cases">
          {caseFilters.map((filter) => (
            <Button
              key={filter}
              small
              look={filter === show ? "plain" : "quiet"}
              aria-pressed={filter === show}
              onClick={() => choose(filter)}
            >
              {labels[filter]} {count(counts[filter])}
            </Button>
          ))}
        </div>
      </div>
      {cases.length === 0 ? (
        <Empty title="No matching cases" />
      ) : (
        <ul className="panel shadow-sm">
          {cases.map((one) => (
            <CaseRow key={one.id} one={one} versions={versions} />
          ))}
        </ul>
      )}
      {counts[show] > cases.length && (
        <Button onClick={() => onLimit(limit + casesAtOnce)}>
          Show {Math.min(casesAtOnce, counts[show] - cases.length)} more of {count(counts[show])}
        </Button>
      )}
    </section>
  );
}

function CaseRow({ one, versions }: { one: Case; versions: Eval["versions"] }) {
  return (
    <li className="flex flex-col gap-2 border-b px-4 py-2 last:border-b-0 max-lg:px-3">
      <div>
        <h3 className="wrap-anywhere">{one.id}</h3>
        <p className="line-clamp-2 wrap-anywhere text-muted">{one.prompt}</p>
        {one.expected !== null && (
          <p className="line-clamp-2 wrap-anywhere text-small text-faint">
            expected <code>{one.expected}</code>
          </p>
        )}
      </div>
      <dl className="grid grid-cols-[repeat(auto-fit,minmax(min(100%,15rem),1fr))] gap-x-4 gap-y-2">
        {versions.map(({ hash, workflow }) => (
          <div key={hash} className="min-w-0">
            <dt className="truncate text-small text-faint">
              {workflow} {hash}
            </dt>
            <dd className="flex flex-col gap-1">
              <Runs runs={one.runs.filter((run) => run.hash === hash)} />
            </dd>
          </div>
        ))}
      </dl>
    </li>
  );
}

function Runs({ runs }: { runs: readonly Run[] }) {
  if (runs.length === 0) return <span className="text-faint">not run yet</span>;
  return runs.toSorted((a, b) => a.n - b.n).map((run) => <RunLine key={run.n} run={run} />);
}

function RunLine({ run }: { run: Run }) {
  const { icon: Icon, ink, text, word } = shownRun(run);
  const why = run.reason ?? run.error?.message ?? null;
  const more = [
    run.cost > 0 && cost(run.cost),
    run.durationMs !== null && duration(run.durationMs),
  ].filter((part) => part !== false);
  const result = (
    <span className={`inline-flex items-center gap-1 font-semibold ${ink}`}>
      <Icon aria-hidden />
      {text}
      {text !== word && <span className="sr-only">, {word}</span>}
    </span>
  );
  return (
    <div className="min-w-0">
      <p className="flex flex-wrap items-center gap-x-2">
        {run.threadId === null ? (
          result
        ) : (
          <Link to="/threads/$id" params={{ id: run.threadId }} title="Its thread">
            {result}
          </Link>
        )}
        <span className="text-small text-muted">{more.join(", ")}</span>
      </p>
      {why !== null && <p className="line-clamp-2 text-small wrap-anywhere text-muted">{why}</p>}
    </div>
  );
}
