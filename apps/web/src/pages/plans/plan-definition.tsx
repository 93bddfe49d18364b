import type { PlanView } from "@uncaged/workflow-server/api-types";
import { Pencil } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { PlanBadge } from "../../kinds/plan/plan-badge.tsx";
import { StepFacts } from "../../kinds/plan/plan-facts.tsx";
import { duration } from "../../lib/format.ts";
import { readJson } from "../../lib/json.ts";
import type { PlanRun } from "../../lib/plans.ts";
import { Shown } from "../../thread/detail/shown.tsx";
import { planGraph } from "../../thread/graph/plan-graph.ts";
import { ButtonLink } from "../../ui/button.tsx";
import { type Fact, Facts } from "../../ui/facts.tsx";
import { Panel } from "../../ui/page.tsx";
import { Prose } from "../../ui/prose.tsx";
import { Skeleton, Warnings } from "../../ui/states.tsx";

const GraphDrawing = lazy(async () => ({
  default: (await import("../../thread/graph/graph-drawing.tsx")).GraphDrawing,
}));

/** The steps of a plan, with their data in a run. */
export function PlanSteps({ plan, run }: { plan: PlanView; run: PlanRun | null }) {
  const { draft, wanted } = plan;
  const { steps } = draft ?? plan;
  const graph = planGraph(steps, run, new Set(wanted.map(({ stepId }) => stepId)));
  const [chosen, setChosen] = useState<string | null>(null);
  const failed = run?.steps.find(({ status }) => status === "failed")?.step_id;
  const known = graph.nodes.find(({ id }) => id === chosen)?.id;
  const shown = known ?? wanted[0]?.stepId ?? failed ?? steps[0]?.id ?? null;
  return (
    <Panel aria-label="Steps">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h2>{draft ? "Steps of the change" : "Steps"}</h2>
        {canBeChanged(plan) && (
          <ButtonLink to="/plans/$id/edit" params={{ id: plan.id }} small icon={<Pencil />}>
            Edit
          </ButtonLink>
        )}
      </div>
      <Warnings of={plan.preview.warnings} />
      <Suspense fallback={<Skeleton lines={8} />}>
        <GraphDrawing
          graph={graph}
          label="Graph of the plan"
          selected={shown}
          onSelect={setChosen}
        />
      </Suspense>
      {shown !== null && <StepData plan={plan} run={run} id={shown} />}
    </Panel>
  );
}

/** Tells whether a plan can be changed in its phase. */
export const canBeChanged = ({ phase }: PlanView): boolean =>
  phase !== "executing" && phase !== "paused";

type StepDataProps = { plan: PlanView; run: PlanRun | null; id: string };

function StepData({ plan, run, id }: StepDataProps) {
  const planned = (plan.draft ?? plan).steps.find((step) => step.id === id);
  const ran = run?.steps.find(({ step_id }) => step_id === id);
  const facts: Fact[] = ran
    ? [
        ["State", <PlanBadge key="state" state={ran.status} isCancelled={ran.cancelled} />],
        ["Took", ran.duration_ms === null ? null : duration(ran.duration_ms)],
        ["Error", ran.error && <Prose key="error" text={ran.error} />],
        [
          "Output",
          ran.output_json && (
            <Shown
              key="output"
              value={readJson(ran.output_json).value ?? ran.output_json}
              name="Output"
              isMarkdown
            />
          ),
        ],
      ]
    : [];
  return (
    <section className="flex flex-col gap-2 border-t pt-3" aria-label={`Step ${id}`}>
      <h3 className="wrap-anywhere">{id}</h3>
      {planned ? <StepFacts step={planned} more={facts} /> : <Facts look="list" facts={facts} />}
    </section>
  );
}
