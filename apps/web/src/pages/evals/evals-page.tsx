import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { EvalRow } from "@uncaged/workflow-server/api-types";
import { Scale } from "lucide-react";
import { useRef } from "react";
import { evalsQuery } from "../../lib/evals.ts";
import { ago, cost, counted, moment, share, useNow } from "../../lib/format.ts";
import { Command } from "../../ui/button.tsx";
import { Facts } from "../../ui/facts.tsx";
import { Page, useListKeys, useTitle } from "../../ui/page.tsx";
import { Empty, Loaded, Pill } from "../../ui/states.tsx";

export function EvalsPage() {
  useTitle("Evals");
  const query = useQuery(evalsQuery);
  return (
    <Page title="Evals">
      <Loaded query={query}>
        {(evals) => (evals.length > 0 ? <EvalList evals={evals} /> : <None />)}
      </Loaded>
    </Page>
  );
}

function None() {
  return (
    <Empty icon={<Scale />} title="No eval yet">
      <p>An eval runs a data set on one or several versions of a workflow, and compares them:</p>
      <Command>uncaged-workflow eval review cases.jsonl --score score.ts</Command>
    </Empty>
  );
}

function EvalList({ evals }: { evals: readonly EvalRow[] }) {
  const list = useRef<HTMLUListElement>(null);
  const now = useNow(30_000);
  useListKeys({ list, target: "a", length: evals.length });
  return (
    <ul ref={list} className="panel shadow-sm">
      {evals.map((one, index) => (
        <li
          key={one.id}
          className="relative flex flex-col gap-2 border-b px-4 py-3 first:rounded-t-lg last:rounded-b-lg last:border-b-0 focus-within:bg-hover hover:bg-hover max-lg:px-3"
          data-index={index}
        >
          <div className="flex flex-wrap items-baseline gap-x-3 gap-y-1">
            <Link
              to="/evals/$id"
              params={{ id: one.id }}
              className="stretched text-body font-semibold wrap-anywhere text-ink"
            >
              {one.dataset.file}
            </Link>
            <span className="text-muted">by {one.scorer.file}</span>
            <span className="text-muted">{counted(one.cases, "case")}</span>
            <span className="text-muted" title={moment(one.createdAt)}>
              {ago(one.createdAt, now)}
            </span>
            {one.versions.some(({ started }) => started > 0) && <Pill>not finished</Pill>}
          </div>
          <Facts
            look="row"
            facts={one.versions.map(({ hash, passRate, score, cost: spent, workflow }) => [
              <span key="version" className="wrap-anywhere">
                {workflow} <code>{hash}</code>
              </span>,
              `${share(passRate)} passed, score ${score?.toFixed(2) ?? "–"}, ${cost(spent)}`,
            ])}
          />
        </li>
      ))}
    </ul>
  );
}
