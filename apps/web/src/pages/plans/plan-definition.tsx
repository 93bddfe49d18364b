import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { Plan, PlanDefinition, PlanView } from "@uncaged/workflow-server/api-types";
import { Braces, Pencil } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { readObject } from "../../lib/json.ts";
import { definePlan, planKeys } from "../../lib/plans.ts";
import { planGraph } from "../../thread/graph/plan-graph.ts";
import { Button, ButtonLink } from "../../ui/button.tsx";
import { Dialog, DialogForm } from "../../ui/dialog.tsx";
import { type Fact, Facts } from "../../ui/facts.tsx";
import { TextArea } from "../../ui/field.tsx";
import { Panel } from "../../ui/page.tsx";
import { Prose } from "../../ui/prose.tsx";
import { Section } from "../../ui/section.tsx";
import { Skeleton, Warnings } from "../../ui/states.tsx";
import { Values } from "../../ui/value.tsx";

const GraphDrawing = lazy(async () => ({
  default: (await import("../../thread/graph/graph-drawing.tsx")).GraphDrawing,
}));

/** The plan's steps before its confirmation, else the steps of its newest run. */
export function PlanSteps({ plan }: { plan: PlanView }) {
  const { draft, runs, wanted } = plan;
  const { steps } = draft ?? plan;
  const [newest = null] = draft ? [] : runs;
  const graph = planGraph(steps, newest, new Set(wanted.map(({ stepId }) => stepId)));
  return (
    <Panel aria-label="Steps">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h2>{draft ? "Steps of the change" : "Steps"}</h2>
        {canBeChanged(plan) && (
          <div className="flex flex-wrap gap-2">
            <ButtonLink to="/plans/$id/edit" params={{ id: plan.id }} small icon={<Pencil />}>
              Edit
            </ButtonLink>
            <EditButton plan={plan} />
          </div>
        )}
      </div>
      <Warnings of={plan.preview.warnings} />
      <Suspense fallback={<Skeleton lines={8} />}>
        <GraphDrawing graph={graph} label="Graph of the plan" />
      </Suspense>
      <div className="panel overflow-hidden [&>section:first-child]:border-t-0">
        {steps.map((step) => (
          <Step key={step.id} step={step} />
        ))}
      </div>
    </Panel>
  );
}

/** Whether a plan can be changed in its phase. */
export const canBeChanged = ({ phase }: PlanView): boolean =>
  phase !== "executing" && phase !== "paused";

/** Edits the definition of a plan. The saved change must be confirmed. */
function EditButton({ plan }: { plan: PlanView }) {
  const client = useQueryClient();
  const [text, setText] = useState<string | null>(null);
  const { value, problem } = readObject(text ?? "{}");
  const save = useMutation({
    mutationFn: (definition: Record<string, unknown>) =>
      definePlan(plan.id, definition as PlanDefinition),
    onSuccess: async () => {
      setText(null);
      await client.invalidateQueries({ queryKey: planKeys.all });
    },
  });
  const close = () => {
    save.reset();
    setText(null);
  };
  return (
    <>
      <Button small icon={<Braces />} onClick={() => setText(definitionOf(plan.draft ?? plan))}>
        Edit as JSON…
      </Button>
      <Dialog title={`Edit ${plan.name}`} isOpen={text !== null} onClose={close} wide>
        <DialogForm
          action="Save"
          work={save}
          isDisabled={value === null}
          onSubmit={() => value && save.mutate(value)}
          onClose={close}
        >
          <TextArea
            code
            label="Definition"
            hint="It is checked like a plan of the planner, and must be confirmed."
            problem={problem}
            rows={20}
            value={text ?? ""}
            onChange={({ target }) => setText(target.value)}
          />
        </DialogForm>
      </Dialog>
    </>
  );
}

/** Metadata that a user does not edit. */
const learned = [
  ...[
    "bundle",
    "draft",
    "last_run",
    "notices",
    "owner",
    "retry",
    "runs_without_log",
    "shares_name",
  ],
];

/** The editable part of a plan. */
export function definitionOf({
  name,
  description,
  trigger,
  failure_policy,
  ...plan
}: Plan): string {
  const steps = plan.steps.map((step) => ({ ...step, position: undefined }));
  const own = Object.entries(plan.metadata ?? {}).filter(([key]) => !learned.includes(key));
  const metadata = own.length > 0 ? Object.fromEntries(own) : undefined;
  return JSON.stringify({ name, description, trigger, steps, failure_policy, metadata }, null, 2);
}

function Step({ step }: { step: Plan["steps"][number] }) {
  const { id, description, depends_on, inputs, expected_output = null } = step;
  const facts: Fact[] = [
    ["Task", <Prose key="task" text={description} isMarkdown />],
    ["Result", expected_output],
    ["After", depends_on.length > 0 ? depends_on.join(", ") : null],
    ["Inputs", Object.keys(inputs).length > 0 ? <Values key="inputs" values={inputs} /> : null],
  ];
  return (
    <Section heading="h3" name={`step ${id}`} title={id} note={description}>
      {() => <Facts look="list" facts={facts} />}
    </Section>
  );
}
