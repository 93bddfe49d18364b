import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { PlanDecision, WantedDecision } from "@uncaged/workflow-server/api-types";
import { RotateCcw, SkipForward, Square } from "lucide-react";
import type { ReactNode } from "react";
import { moment } from "../../lib/format.ts";
import { decidePlan, planKeys } from "../../lib/plans.ts";
import { Button } from "../../ui/button.tsx";
import { Panel } from "../../ui/page.tsx";
import { Prose } from "../../ui/prose.tsx";
import { FailureNotice } from "../../ui/states.tsx";

type Props = {
  wanted: readonly WantedDecision[];
  /** Returns the name of a plan, on a page with several plans. */
  nameOf?: (workflowId: string) => ReactNode;
};

/** Failed steps that wait for a decision. */
export function Decisions({ wanted, nameOf }: Props) {
  if (wanted.length === 0) return null;
  return (
    <Panel aria-label="Decisions to take">
      <h2>{wanted.length === 1 ? "A decision to take" : "Decisions to take"}</h2>
      <ul className="flex flex-col gap-4">
        {wanted.map((one) => (
          <li key={`${one.runId} ${one.stepId}`}>
            <Decision wanted={one} name={nameOf?.(one.workflowId)} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}

const choices: readonly { decision: PlanDecision; label: string; icon: ReactNode }[] = [
  { decision: "retry", label: "Retry", icon: <RotateCcw /> },
  { decision: "skip", label: "Skip", icon: <SkipForward /> },
  { decision: "abort", label: "Abort", icon: <Square /> },
];

const hints: Record<PlanDecision, string> = {
  retry: "Run the step again",
  skip: "Skip the step and all steps that depend on it",
  abort: "End the run",
};

function Decision({ wanted, name }: { wanted: WantedDecision; name: ReactNode }) {
  const { workflowId, threadId, stepId, error, expiresAt } = wanted;
  const client = useQueryClient();
  const decide = useMutation({
    mutationFn: (decision: PlanDecision) => decidePlan(workflowId, decision, wanted),
    onSettled: () => client.invalidateQueries({ queryKey: planKeys.all }),
  });
  return (
    <div className="flex flex-col gap-2">
      <p className="wrap-anywhere">
        {name ? <>{name}: the step</> : "The step"} <code>{stepId}</code> failed in{" "}
        <Link to="/threads/$id" params={{ id: threadId }} className="underline">
          this run
        </Link>
      </p>
      <Prose text={error} />
      <div className="flex flex-wrap gap-2">
        {choices.map(({ decision, label, icon }) => (
          <Button
            key={decision}
            look={decision === "retry" ? "solid" : decision === "abort" ? "danger" : "plain"}
            icon={icon}
            title={hints[decision]}
            isBusy={decide.isPending}
            onClick={() => decide.mutate(decision)}
          >
            {label}
            <span className="sr-only"> {stepId}</span>
          </Button>
        ))}
      </div>
      {expiresAt !== null && (
        <p className="text-small text-muted">
          Without a decision it is aborted at {moment(expiresAt)}.
        </p>
      )}
      {decide.error && <FailureNotice error={decide.error} />}
    </div>
  );
}
