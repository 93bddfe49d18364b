import type { Plan, PlanView } from "@uncaged/workflow-server/api-types";
import { formatJson } from "../../lib/json.ts";
import { type Fact, Facts } from "../../ui/facts.tsx";
import { LongText, Prose } from "../../ui/prose.tsx";
import { useNow } from "../../lib/format.ts";
import { catchUpWords, slotTimes, triggerWords } from "./trigger.ts";
import { Alert } from "../../ui/states.tsx";

type Props = {
  step: Plan["steps"][number];
  /** Facts from a run. */
  more?: readonly Fact[];
};

/** All facts of a plan's step. */
export function StepFacts({ step, more = [] }: Props) {
  const { description, depends_on, inputs, expected_output = null } = step;
  return (
    <Facts
      look="list"
      facts={[
        ["Task", <Prose key="task" text={description} isMarkdown isOpen />],
        ["Result", expected_output],
        ["After", depends_on.length > 0 ? depends_on.join(", ") : null],
        ...Object.entries(inputs).map(
          ([name, value]): Fact => [
            `Input ${name}`,
            <div key={name} className="anywhere">
              <LongText text={typeof value === "string" ? value : (formatJson(value) ?? "")} />
            </div>,
          ],
        ),
        ...more,
      ]}
    />
  );
}

const policies: Record<Plan["failure_policy"]["on_step_failure"], string> = {
  stop: "the run ends",
  skip_dependents: "dependent steps are skipped",
  ask_user: "you are asked",
};

function failureWords({ on_step_failure, max_retries }: Plan["failure_policy"]): string {
  const end = policies[on_step_failure];
  if (max_retries === 0) return end;
  return `${max_retries} more ${max_retries === 1 ? "attempt" : "attempts"}, then ${end}`;
}

type Of = Pick<PlanView, "trigger" | "metadata" | "failure_policy">;

/** A plan's trigger with its next times, the reaction to failures, the folder and the sandbox. */
export const planFacts = (of: Of, slots: readonly string[], sandbox: readonly string[]): Fact[] => [
  ["Trigger", triggerWords(of.trigger)],
  ["Next", slots.length > 0 ? <NextTimes key="next" trigger={of.trigger} slots={slots} /> : null],
  ["Catch-up", catchUpWords(of)],
  ["When a step fails", failureWords(of.failure_policy)],
  ["Folder", typeof of.metadata?.cwd === "string" ? of.metadata.cwd : null],
  [
    "Sandbox",
    <ul key="sandbox" className="grid gap-0.5">
      {sandbox.map((fact, at) => (
        <li key={at}>{fact}</li>
      ))}
    </ul>,
  ],
];

type NextProps = { trigger: PlanView["trigger"]; slots: readonly string[] };

function NextTimes({ trigger, slots }: NextProps) {
  const now = useNow(30_000);
  return (
    <ol>
      {slotTimes(trigger, slots, now).map(({ theirs, mine }) => (
        <li key={theirs}>
          {theirs}
          {mine !== null && <span className="text-muted"> ({mine} in your time)</span>}
        </li>
      ))}
    </ol>
  );
}

/** Warns that nothing fires the trigger of a confirmed plan. `what` names the plans. */
export const NotFiring = ({ what }: { what: string }) => (
  <Alert title={`${what} does not fire: no service is running.`}>
    <p className="text-muted">
      Run <code>uncaged-workflow plan service run</code>, or start the console with{" "}
      <code>uncaged-workflow serve</code>.
    </p>
  </Alert>
);
