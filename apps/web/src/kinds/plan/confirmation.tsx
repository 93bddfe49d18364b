import { editedText } from "@uncaged/workflow-plan/editing";
import type { PlanView } from "@uncaged/workflow-server/api-types";
import { Check, X } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { changePlan, confirmPlan, planKeys } from "../../lib/plans.ts";
import { Decision } from "../../thread/question/decision.tsx";
import { Button } from "../../ui/button.tsx";
import { LineDiff } from "../../ui/diff.tsx";
import { Facts } from "../../ui/facts.tsx";
import { Panel } from "../../ui/page.tsx";
import { revealed } from "../../thread/question/subject.tsx";
import { planFacts, StepFacts } from "./plan-facts.tsx";

type Props = {
  plan: PlanView;
  /** Whether the plan no longer waits for a confirmation. */
  isOver?: boolean;
  onSent?: () => void;
};

/** The content of a plan with the buttons that confirm or reject this exact version, by its hash. */
export function Confirmation(props: Props) {
  return (
    <Panel aria-label="To be confirmed">
      <h2>{props.plan.draft ? "A change to be confirmed" : "To be confirmed"}</h2>
      <PlanConfirmation {...props} />
    </Panel>
  );
}

/** {@link Confirmation} without a frame. */
export function PlanConfirmation({ plan, isOver = false, onSent }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [taken, setRead] = useState(plan);
  const read = useMemo(() => revealed(taken), [taken]);
  const hasChanged = read.hash !== plan.hash;
  // A change must not take the place of the version that the user is about to confirm.
  useEffect(() => {
    if (!isOver && !box.current?.matches(":hover, :focus-within")) setRead(plan);
  }, [isOver, plan]);
  const { id, hash, preview, draft, phase } = read;
  const { description, steps } = draft ?? read;
  const { credentials, nextFires, sandboxFacts } = preview;
  const runs = phase === "awaiting_confirmation" && read.trigger.type === "manual";
  return (
    <div ref={box} className="flex flex-col gap-3">
      <Decision
        key={hash}
        isOver={isOver || hasChanged}
        onSent={onSent}
        changes={planKeys.all}
        subject={
          <div className="flex flex-col gap-3">
            <p className="text-muted wrap-anywhere">{description}</p>
            {draft && (
              <LineDiff before={editedText(read)} after={editedText(draft)} label="What changes" />
            )}
            <ol className="flex flex-col gap-3">
              {steps.map((step) => (
                <li key={step.id} className="wrap-anywhere">
                  <h3>{step.id}</h3>
                  <StepFacts step={step} />
                </li>
              ))}
            </ol>
            <Facts
              look="list"
              facts={[
                ...planFacts(draft ?? read, nextFires, sandboxFacts),
                [
                  "Credentials",
                  credentials
                    .map(({ name, known }) => (known ? name : `${name} (not stored)`))
                    .join(", ") || "none",
                ],
                ["Hash", <code key="hash">{hash.slice(0, 12)}</code>, hash],
              ]}
            />
          </div>
        }
        choices={[
          {
            name: "approve",
            label: runs ? "Confirm and run" : "Confirm",
            look: "solid",
            icon: <Check />,
            needsSubject: true,
            send: () => confirmPlan(id, hash),
          },
          {
            name: "reject",
            label: draft ? "Drop the change" : "Reject",
            icon: <X />,
            send: () => changePlan(id, "reject"),
          },
        ]}
      />
      {hasChanged && (
        <div>
          <Button onClick={() => setRead(plan)}>Show the changed plan</Button>
        </div>
      )}
    </div>
  );
}
