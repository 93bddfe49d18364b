import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { NumberedStep } from "@uncaged/workflow-server/api-types";
import { useState } from "react";
import { attemptsOf, type PlanAttempt } from "../../kinds/plan/attempts.ts";
import { outputOf } from "../../kinds/plan/output.ts";
import { PlanBadge } from "../../kinds/plan/plan-badge.tsx";
import { ago, duration, moment, until, useNow } from "../../lib/format.ts";
import { type PlanRun, threadOfRun } from "../../lib/plans.ts";
import { useThreadLog } from "../../lib/thread-log.ts";
import { stepsQuery } from "../../lib/threads.ts";
import { Button } from "../../ui/button.tsx";
import { Facts } from "../../ui/facts.tsx";
import { Prose } from "../../ui/prose.tsx";
import { Section } from "../../ui/section.tsx";

const atOnce = 20;

/** The runs of a plan, newest first; the newest is open. */
export function Runs({ runs }: { runs: readonly PlanRun[] }) {
  const [shown, setShown] = useState(atOnce);
  return (
    <div className="flex flex-col items-start gap-2 *:w-full">
      <ol className="panel overflow-hidden [&>li:first-child>section]:border-t-0">
        {runs.slice(0, shown).map((run, at) => (
          <li key={run.id}>
            <Run run={run} isNewest={at === 0} />
          </li>
        ))}
      </ol>
      {runs.length > shown && (
        <div>
          <Button small onClick={() => setShown(shown + atOnce)}>
            Show more ({runs.length - shown} left)
          </Button>
        </div>
      )}
    </div>
  );
}

function Run({ run, isNewest }: { run: PlanRun; isNewest: boolean }) {
  const { id, status, started_at, duration_ms, error, cancelled, trigger_data } = run;
  const now = useNow(1_000, status === "running");
  const started = Date.parse(started_at);
  const took = duration_ms ?? (status === "running" ? now - started : null);
  return (
    <Section
      name={`run ${id}`}
      title={`Run of ${moment(started)}`}
      note={[status, ago(started, now), took !== null && duration(took)].filter(Boolean).join(", ")}
      isOpen={isNewest}
    >
      {() => (
        <div className="flex flex-col gap-3">
          <Facts
            look="list"
            facts={[
              ["State", <PlanBadge key="state" state={status} isCancelled={cancelled} />],
              ["Error", error && <Prose key="error" text={error} />],
              ["Trigger data", trigger_data && <Prose key="data" text={trigger_data} />],
              [
                "Thread",
                <Link
                  key="thread"
                  to="/threads/$id"
                  params={{ id: threadOfRun(id) }}
                  className="mono"
                >
                  {threadOfRun(id)}
                </Link>,
              ],
            ]}
          />
          <StepRuns run={run} now={now} />
        </div>
      )}
    </Section>
  );
}

type StepRunsProps = { run: PlanRun; now: number };

function StepRuns({ run, now }: StepRunsProps) {
  // A queued run has no thread yet.
  if (run.steps.length === 0) return <p className="text-faint">Queued.</p>;
  if (run.status === "running") return <LiveStepRuns run={run} now={now} />;
  return <EndedStepRuns run={run} now={now} />;
}

function LiveStepRuns({ run, now }: StepRunsProps) {
  const { steps } = useThreadLog(threadOfRun(run.id));
  return <StepRunList run={run} now={now} records={steps} />;
}

const mostRecords = 1_000;

function EndedStepRuns({ run, now }: StepRunsProps) {
  const { data } = useQuery({
    ...stepsQuery(threadOfRun(run.id), 1, mostRecords),
    // The run's thread may have been deleted.
    retry: false,
  });
  return <StepRunList run={run} now={now} records={data?.steps ?? []} />;
}

type StepRunListProps = StepRunsProps & { records: readonly NumberedStep[] };

function StepRunList({ run, now, records }: StepRunListProps) {
  const attempts = attemptsOf(records);
  return (
    <ol className="flex flex-col gap-2" aria-label="Steps of the run">
      {run.steps.map((step) => (
        <li key={step.id} className="flex flex-col gap-2 border-t pt-2">
          <div className="flex flex-wrap items-center gap-2">
            <h4 className="font-semibold wrap-anywhere">{step.step_id}</h4>
            <PlanBadge state={step.status} isCancelled={step.cancelled} />
            {step.duration_ms !== null && (
              <span className="text-small text-muted">{duration(step.duration_ms)}</span>
            )}
          </div>
          <Attempts attempts={attempts.get(step.step_id) ?? []} now={now} />
          {step.error !== null && <Prose text={step.error} />}
          {step.output_json !== null && <Prose text={outputOf(step.output_json)} isMarkdown />}
        </li>
      ))}
    </ol>
  );
}

function Attempts({ attempts, now }: { attempts: readonly PlanAttempt[]; now: number }) {
  if (attempts.length < 2 && !attempts.some(({ interruptions }) => interruptions > 0)) return null;
  return (
    <ul className="text-small text-muted">
      {attempts.map((attempt) => (
        <li key={attempt.number} className="wrap-anywhere">
          {attemptText(attempt, now)}
        </li>
      ))}
    </ul>
  );
}

function attemptText(
  { number, state, error, nextAt, interruptions, ...times }: PlanAttempt,
  now: number,
) {
  const { startedAt, endedAt } = times;
  const parts = [
    `Attempt ${number} ${state}`,
    duration((endedAt ?? now) - startedAt),
    interruptions > 0 && "restarted after an interruption",
    error,
    nextAt !== null && nextAt > now && `the next attempt starts ${until(nextAt, now)}`,
  ];
  return parts.filter(Boolean).join(", ");
}
