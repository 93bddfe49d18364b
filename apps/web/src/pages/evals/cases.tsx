import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import type { Eval } from "@uncaged/workflow-server/api-types";
import { useState } from "react";
import { type CaseFilter, caseFilters, filteredCases } from "../../lib/evals.ts";
import { cost, count, duration } from "../../lib/format.ts";
import { Button } from "../../ui/button.tsx";
import { Empty } from "../../ui/states.tsx";
import { shownRun } from "./outcome.tsx";

type Case = Eval["cases"][number];
type Run = Case["runs"][number];

const atOnce = 50;

const labels: Record<CaseFilter, string> = {
  all: "All",
  worse: "Worse",
  better: "Better",
  failing: "Not passed",
  unscored: "Without a score",
};

/** The cases of an eval, each with its runs on each version, which lead to their threads. */
export function Cases({ found }: { found: Eval }) {
  const { show = "all" } = useSearch({ from: "/evals/$id" });
  const navigate = useNavigate({ from: "/evals/$id" });
  const [shown, setShown] = useState(atOnce);
  const cases = filteredCases(found, show, null);
  const choose = (filter: CaseFilter) => {
    setShown(atOnce);
    void navigate({
      search: (before) => ({ ...before, show: filter === "all" ? undefined : filter }),
      replace: true,
    });
  };
  return (
    <section className="flex flex-col gap-6" aria-labelledby="cases">
      <div className="flex flex-wrap items-center gap-x-7.5 gap-y-4">
        <h2 id="cases">Cases</h2>
        <div className="flex flex-wrap gap-2.5" role="group" aria-label="Which cases">
          {caseFilters.map((filter) => (
            <Button
              key={filter}
              small
              look={filter === show ? "plain" : "quiet"}
              aria-pressed={filter === show}
              onClick={() => choose(filter)}
            >
              {labels[filter]} {count(filteredCases(found, filter, null).length)}
            </Button>
          ))}
        </div>
      </div>
      {cases.length === 0 ? (
        <Empty title="No case is like that" />
      ) : (
        <ul className="panel shadow-sm">
          {cases.slice(0, shown).map((one) => (
            <CaseRow key={one.id} one={one} versions={found.versions} />
          ))}
        </ul>
      )}
      {cases.length > shown && (
        <Button onClick={() => setShown(shown + atOnce)}>
          Show {Math.min(atOnce, cases.length - shown)} more of {count(cases.length)}
        </Button>
      )}
    </section>
  );
}

function CaseRow({ one, versions }: { one: Case; versions: Eval["versions"] }) {
  return (
    <li className="flex flex-col gap-4 border-b px-10 py-6 last:border-b-0 max-lg:px-8.5">
      <div>
        <h3 className="wrap-anywhere">{one.id}</h3>
        <p className="line-clamp-2 wrap-anywhere text-muted">{one.prompt}</p>
        {one.expected !== null && (
          <p className="line-clamp-2 wrap-anywhere text-small text-faint">
            expected <code>{one.expected}</code>
          </p>
        )}
      </div>
      <dl className="grid grid-cols-[repeat(auto-fit,minmax(min(100%,15rem),1fr))] gap-x-10 gap-y-4">
        {versions.map(({ hash, workflow }) => (
          <div key={hash} className="min-w-0">
            <dt className="truncate text-small text-faint">
              {workflow} {hash}
            </dt>
            <dd className="flex flex-col gap-2">
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
    <span className={`inline-flex items-center gap-3 font-medium ${ink}`}>
      <Icon aria-hidden />
      {text}
      {text !== word && <span className="sr-only">, {word}</span>}
    </span>
  );
  return (
    <div className="min-w-0">
      <p className="flex flex-wrap items-center gap-x-5">
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
