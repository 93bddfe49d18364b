import { Link } from "@tanstack/react-router";
import type { PlanDecision, WantedDecision } from "@uncaged/workflow-server/api-types";
import { RotateCcw, SkipForward, Square } from "lucide-react";
import type { ReactNode } from "react";
import { decidePlan, planKeys } from "../../lib/plans.ts";
import { type Choice, Decision } from "../../thread/question/decision.tsx";
import { Panel } from "../../ui/page.tsx";
import { Prose } from "../../ui/prose.tsx";

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
          <li key={`${one.runId} ${one.stepId} ${one.question}`}>
            <StepDecision wanted={one} name={nameOf?.(one.workflowId)} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}

type Decided = Omit<Choice, "send" | "act"> & { decision: PlanDecision };

const choices: readonly Decided[] = [
  {
    decision: "retry",
    label: "Retry",
    look: "solid",
    icon: <RotateCcw />,
    title: "Run the step again",
  },
  {
    decision: "skip",
    label: "Skip",
    icon: <SkipForward />,
    title: "Skip the step and all steps that depend on it",
  },
  {
    decision: "abort",
    name: "reject",
    label: "Abort",
    look: "danger",
    icon: <Square />,
    title: "End the run",
  },
];

type StepProps = {
  wanted: WantedDecision;
  name?: ReactNode;
  isOver?: boolean;
  onSent?: () => void;
};

/** Retries or skips a failed step of a plan, or ends its run. */
export function StepDecision({ wanted, name, isOver, onSent }: StepProps) {
  const { workflowId, threadId, stepId, error, expiresAt } = wanted;
  return (
    <Decision
      from={
        <p className="wrap-anywhere">
          {name ? <>{name}: the step</> : "The step"} <code>{stepId}</code> failed in{" "}
          <Link to="/threads/$id" params={{ id: threadId }} className="underline">
            this run
          </Link>
        </p>
      }
      subject={<Prose text={error} />}
      expiresAt={expiresAt}
      isOver={isOver}
      onSent={onSent}
      changes={planKeys.all}
      choices={choices.map(({ decision, ...choice }) => ({
        ...choice,
        about: stepId,
        send: () => decidePlan(workflowId, decision, wanted),
      }))}
    />
  );
}
