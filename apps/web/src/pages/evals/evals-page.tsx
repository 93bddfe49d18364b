import { useQuery } from "@tanstack/react-query";
import type { EvalRow } from "@uncaged/workflow-server/api-types";
import { Scale } from "lucide-react";
import { evalsQuery } from "../../lib/evals.ts";
import { ago, cost, counted, moment, share, useNow } from "../../lib/format.ts";
import { Command } from "../../ui/button.tsx";
import { Facts } from "../../ui/facts.tsx";
import { Page, useTitle } from "../../ui/page.tsx";
import { RowList, RowLink } from "../../ui/row-list.tsx";
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
  const now = useNow(30_000);
  return (
    <RowList label="Evals" rows={evals} keyOf={({ id }) => id} layout="flex flex-col gap-2">
      {({ id, dataset, scorer, cases, createdAt, versions }) => (
        <>
          <div className="flex flex-wrap items-baseline gap-x-3 gap-y-1">
            <RowLink to="/evals/$id" params={{ id }}>
              {dataset.file}
            </RowLink>
            <span className="text-muted">by {scorer.file}</span>
            <span className="text-muted">{counted(cases, "case")}</span>
            <span className="text-muted" title={moment(createdAt)}>
              {ago(createdAt, now)}
            </span>
            {versions.some(({ started }) => started > 0) && <Pill>not finished</Pill>}
          </div>
          <Facts
            look="row"
            facts={versions.map(({ hash, passRate, score, cost: spent, workflow }) => [
              <span key="version" className="wrap-anywhere">
                {workflow} <code>{hash}</code>
              </span>,
              `${share(passRate)} passed, score ${score?.toFixed(2) ?? "–"}, ${spent === 0 ? "$0" : cost(spent)}`,
            ])}
          />
        </>
      )}
    </RowList>
  );
}
